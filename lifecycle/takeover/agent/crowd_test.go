package agent_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// crowd is more callers than an agent has at once.
const crowd = 4200

// Every kind of probe is answered, however many callers hang: some have said nothing, and
// others a part of what they want. It has the machine for itself.
func TestProbesInACrowd(t *testing.T) {
	f := start(t, func(s *wire.Session) {
		short(s)
		s.Away = wire.Duration(10 * time.Minute)
	}, wire.Port{Number: 7070, Probes: []string{wire.ProbeTCP}}, wire.Port{Number: 8080, Probes: []string{wire.ProbeHTTP}},
		wire.Port{Number: 9090, Probes: []string{wire.ProbeGRPC}})
	defer f.end()
	firsts := []string{"", "GET / HTTP/1.1\r\nHost: api", "GET / HTTP/1.1\r\nHost: api\r\n\r\n", "PRI * HTTP/2.0\r\n", "\x00"}
	for i := range crowd {
		c, err := f.dial([]string{":7070", ":8080", ":9090"}[i%3])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, firsts[i%len(firsts)])
	}
	for range 20 {
		for _, address := range []string{":7070", "127.0.0.1:47811"} {
			c, err := f.dial(address)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		request, err := http.NewRequestWithContext(t.Context(), "GET", "http://api/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("User-Agent", "kube-probe/1.37")
		client := f.client(":8080")
		client.Timeout = 30 * time.Second
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Error(response.Status)
		}
		kubelet, _ := f.grpcClient(":9090", grpc.WithUserAgent("kube-probe/1.37"))
		check(t, kubelet, serving)
	}
}

// Who finds no place waits for one, and is told when it does not come.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		dial, stop := process(t, n)
		synctest.Wait()
		w := f.serving(dial)
		w.keep()
		open := make([]net.Conn, 0, 2048)
		for range cap(open) {
			c, err := f.dial(":8080")
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
		synctest.Wait()
		a := f.get(":8080")
		if a.unserved(t, 20*time.Second); !strings.Contains(a.body, "2048 connections") || a.header.Get("Retry-After") == "" {
			t.Errorf("%q, %v", a.body, a.header)
		}
		in(5*time.Second, func() {
			io.WriteString(open[0], "GET / HTTP/1.0\r\n\r\n")
			io.ReadFull(open[0], make([]byte, 1))
			open[0].Close()
		})
		f.get(":8080").served(t, 5*time.Second)
		for _, c := range open {
			c.Close()
		}
		w.conn.Close()
		stop()
		f.end()
	})
}
