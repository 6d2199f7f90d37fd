package portforward_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward/portforwardtest"
)

// echo is a listener that sends back what it gets, and ends when its peer has.
func echo(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l
}

func peer(t *testing.T, l net.Listener) (*portforwardtest.Peer, *rest.Config) {
	t.Helper()
	p := &portforwardtest.Peer{Dial: func(_ string, port uint16) (net.Conn, error) {
		if port != 80 {
			return nil, errors.New("connection refused")
		}
		return net.Dial("tcp", l.Addr().String())
	}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	t.Cleanup(func() { p.Cut("web") })
	return p, &rest.Config{Host: server.URL}
}

func connect(t *testing.T, config *rest.Config, options ...portforward.Option) *portforward.Conn {
	t.Helper()
	d, err := portforward.New(config, options...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Connect(t.Context(), "shop", "web")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Where there are no WebSockets, connections come about by SPDY.
func TestStreamsCarryBytes(t *testing.T) {
	t.Parallel()
	for _, protocol := range []portforward.Protocol{portforward.WebSocket, portforward.SPDY} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			p, config := peer(t, echo(t))
			p.WebSockets = protocol == portforward.WebSocket
			c := connect(t, config)
			if c.Protocol() != protocol {
				t.Errorf("came about by %s", c.Protocol())
			}
			carry(t, c)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// carry sends bytes over streams side by side.
func carry(t *testing.T, c *portforward.Conn) {
	t.Helper()
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			s, err := c.Open(t.Context(), 80)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			go func() { _, _ = s.Write(want) }()
			got := make([]byte, len(want))
			if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("got other bytes, %v", err)
			}
			if err := s.CloseWrite(); err != nil {
				t.Error(err)
			}
			if n, err := s.Read(got); n != 0 || err != io.EOF {
				t.Errorf("at the end: %d, %v", n, err)
			}
		})
	}
	group.Wait()
}

func TestPortThatNothingListensOn(t *testing.T) {
	t.Parallel()
	_, config := peer(t, echo(t))
	c := connect(t, config)
	s, err := c.Open(t.Context(), 81)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Read(make([]byte, 1))
	var failure *portforward.Error
	if !errors.As(err, &failure) || failure.Port != 81 || !strings.Contains(err.Error(), "port 81 of pod shop/web") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("read: %v", err)
	}
	if c.Err() != nil {
		t.Errorf("the connection suffered: %v", c.Err())
	}
	other, err := c.Open(t.Context(), 80)
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
}

func TestRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	p, config := peer(t, echo(t))
	status := func(code int, reason string) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it says no","reason":"`+reason+`"}`)
			return true
		}
	}
	for reason, tc := range map[string]struct {
		code int
		is   func(error) bool
		want string
	}{
		"Forbidden":    {http.StatusForbidden, apierrors.IsForbidden, "pods/portforward in namespace shop"},
		"NotFound":     {http.StatusNotFound, apierrors.IsNotFound, "the pod is gone"},
		"Unauthorized": {http.StatusUnauthorized, apierrors.IsUnauthorized, "log in"},
	} {
		p.Refuse = status(tc.code, reason)
		for _, only := range [][]portforward.Option{nil, {portforward.Only(portforward.SPDY)}, {portforward.Only(portforward.WebSocket)}} {
			d, err := portforward.New(config, only...)
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.Connect(t.Context(), "shop", "web")
			var failure *portforward.Error
			if !errors.As(err, &failure) || !tc.is(failure.Err) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "it says no") {
				t.Errorf("%s: %v", reason, err)
			}
		}
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p, config := peer(t, echo(t))
	asked := make(chan struct{}, 2)
	p.Refuse = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	}
	for _, protocol := range []portforward.Protocol{portforward.WebSocket, portforward.SPDY} {
		d, err := portforward.New(config, portforward.Only(protocol))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		if _, err := d.Connect(ctx, "shop", "web"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}

// A connection that is cut is lost at once, one that stands still after a while.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(*portforwardtest.Peer, string)
		want error
	}{
		"cut":    {(*portforwardtest.Peer).Cut, portforward.ErrLost},
		"frozen": {(*portforwardtest.Peer).Freeze, portforward.ErrSilent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, config := peer(t, echo(t))
			c := connect(t, config)
			s, err := c.Open(t.Context(), 80)
			if err != nil {
				t.Fatal(err)
			}
			tc.do(p, "web")
			<-c.Done()
			if _, err := s.Read(make([]byte, 1)); !errors.Is(err, tc.want) {
				t.Errorf("read: %v", err)
			}
			if _, err := s.Write([]byte("x")); err == nil {
				t.Error("what is written to a lost connection is gone without a word")
			}
			if _, err := c.Open(t.Context(), 80); !errors.Is(err, tc.want) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

// A far end that takes nothing does not hold up the close of its connection either.
func TestCloseWhileNothingIsTaken(t *testing.T) {
	t.Parallel()
	p, config := peer(t, echo(t))
	c := connect(t, config)
	s, err := c.Open(t.Context(), 80)
	if err != nil {
		t.Fatal(err)
	}
	p.Freeze("web")
	stuck := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Write(make([]byte, 1<<20)); err != nil {
				stuck <- err
				return
			}
		}
	}()
	// It is not lost yet.
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if err := <-stuck; err == nil {
		t.Error("what was not sent was written")
	}
}

// A stream whose bytes nobody takes holds nothing up when the connection is closed, and leaves nothing.
func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					for {
						if _, err := c.Write(make([]byte, 1<<16)); err != nil {
							return
						}
					}
				}()
			}
		}()
		p := &portforwardtest.Peer{Dial: func(string, uint16) (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }}
		server := httptest.NewServer(p)
		defer server.Close()
		d, err := portforward.New(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c, err := d.Connect(t.Context(), "shop", "web")
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.Open(t.Context(), 80)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		p.Cut("web")
	}()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for runtime.NumGoroutine() > before {
		select {
		case <-deadline.C:
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines more:\n%s", runtime.NumGoroutine()-before, buf[:runtime.Stack(buf, true)])
		case <-time.After(10 * time.Millisecond):
		}
	}
}
