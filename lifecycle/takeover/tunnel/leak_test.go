package tunnel_test

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestLeavesNothing runs by itself: it looks at all goroutines. Nothing of a Tunnel is left when Run has returned, also
// where the process takes no bytes, and where the far end stands still.
func TestLeavesNothing(t *testing.T) {
	s := newShop(t, 2)
	release := make(chan struct{})
	defer close(release)
	config := s.tunnelConfig(newProcess(t, func(*net.TCPConn) { <-release }))
	config.Drain = -1
	r := start(t, config)
	pods := r.await(t, connected(2)).Pods
	for _, pod := range pods {
		for range 5 {
			c := s.call(t, pod.Name)
			go func() { // until it is cut off
				for {
					if _, err := c.Write(make([]byte, 1<<16)); err != nil {
						return
					}
				}
			}()
		}
	}
	opened := time.After(patience)
	for state := r.State(); state.Pods[0].Open < 5 || state.Pods[1].Open < 5; state = r.State() {
		select {
		case <-opened:
			t.Fatalf("%+v", state)
		case <-time.After(10 * time.Millisecond): // no change tells of connections
		}
	}
	s.peer.Freeze(pods[1].Name)
	r.end()
	buf := make([]byte, 4<<20)
	late := time.After(patience)
	for {
		var left []string
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			for _, ours := range []string{"takeover/tunnel.(", "internal/portforward.(", "internal/follow.", "spdystream.(*Connection).Serve("} {
				// The far end has connections of its own.
				if strings.Contains(stack, ours) && !strings.Contains(stack, "portforwardtest") && !strings.Contains(stack, "pkg/httpstream/spdy") {
					left = append(left, stack)
					break
				}
			}
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-late:
			t.Fatalf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
		case <-time.After(10 * time.Millisecond): // what ends by itself
		}
	}
}
