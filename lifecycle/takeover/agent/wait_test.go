package agent_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

func portsOf(numbers ...int) []wire.Port {
	var ports []wire.Port
	for _, n := range numbers {
		ports = append(ports, wire.Port{Number: uint16(n)})
	}
	return ports
}

// process serves "served" in the bubble until stop.
func process(t *testing.T, n *network) (dial func(uint16) (net.Conn, error), stop func()) {
	t.Helper()
	l, err := n.listen(t.Context(), "process")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "served")
	})}
	go server.Serve(l)
	return func(uint16) (net.Conn, error) { return n.dial("process") }, func() { server.Close() }
}

type answer struct {
	status int
	body   string
	header http.Header
	after  time.Duration
}

// get asks port once, over a connection of its own.
func (f *fixture) get(port string) answer {
	f.t.Helper()
	begun := time.Now()
	client := f.client(port)
	defer client.CloseIdleConnections()
	response, err := client.Get("http://api/")
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer{status: response.StatusCode, body: string(body), header: response.Header, after: time.Since(begun)}
}

func (a answer) served(t *testing.T, after time.Duration) {
	t.Helper()
	if a.status != 200 || a.body != "served" || a.after != after {
		t.Errorf("%d %q after %s, not served after %s", a.status, a.body, a.after, after)
	}
}

// unserved says that nobody answered, after about that time.
func (a answer) unserved(t *testing.T, after time.Duration) {
	t.Helper()
	if a.status != 503 || a.after < after || a.after > after+time.Second {
		t.Errorf("%d %q after %s, not 503 after %s", a.status, a.body, a.after, after)
	}
}

// lost says that nobody knows what became of the request, after about that time.
func (a answer) lost(t *testing.T, after time.Duration) {
	t.Helper()
	if a.status != 502 || a.header.Get("Retry-After") != "" || !strings.Contains(a.body, "may have been processed") ||
		a.after < after || a.after > after+time.Second {
		t.Errorf("%d %q %v after %s, not 502 after %s", a.status, a.body, a.header, a.after, after)
	}
}

// in runs do after d.
func in(d time.Duration, do func()) { time.AfterFunc(d, do) }

func TestCallersWaitForTheWorkstation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		dial, stop := process(t, n)
		synctest.Wait()
		arrived := make(chan *workstation, 1)
		in(15*time.Second, func() { arrived <- f.serving(dial) })
		f.get(":8080").served(t, 15*time.Second)
		(<-arrived).conn.Close()
		stop()
		f.end()
	})
}

func TestNobodyServes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := startInMemory(t, 8080)
		synctest.Wait()
		a := f.get(":8080")
		a.unserved(t, 20*time.Second)
		for _, want := range []string{workload, holder, "2026-11-30T09:00:00Z", "kubectl pharos handback"} {
			if !strings.Contains(a.body, want) {
				t.Errorf("the answer lacks %q: %s", want, a.body)
			}
		}
		if a.header.Get("Retry-After") == "" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v", a.header)
		}
		f.get(":8080").unserved(t, 0)
		head, err := f.client(":8080").Head("http://api/")
		if err != nil || head.StatusCode != 503 {
			t.Errorf("HEAD: %v, %v", head, err)
		}
		f.end()
	})
}

func TestOtherProtocolsAreClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := startInMemory(t, 8080)
		synctest.Wait()
		for _, first := range []string{"", "\x16\x03\x01", "get / http/1.1 please\r\n\r\n"} {
			conn, err := f.dial(":8080")
			if err != nil {
				t.Fatal(err)
			}
			go conn.Write([]byte(first))
			if got, err := io.ReadAll(conn); len(got) > 0 || err != nil {
				t.Errorf("%q: %q, %v", first, got, err)
			}
			conn.Close()
		}
		f.end()
	})
}

func TestHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		dial, stop := process(t, n)
		synctest.Wait()
		w := f.connect(dial)
		w.keep()
		// A stream begins on hold, and this one goes on for longer than callers wait.
		f.get(":8080").unserved(t, 20*time.Second)
		w.request(wire.RequestServe)
		f.get(":8080").served(t, 0)
		w.request(wire.RequestHold)
		in(5*time.Second, func() { w.request(wire.RequestServe) })
		f.get(":8080").served(t, 5*time.Second)
		w.request(wire.RequestHold)
		f.get(":8080").unserved(t, 20*time.Second)
		w.conn.Close()
		stop()
		f.end()
	})
}

func TestProcessIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		up, stop := process(t, n)
		synctest.Wait()
		var down atomic.Bool
		down.Store(true)
		w := f.serving(func(port uint16) (net.Conn, error) {
			if down.Load() {
				return nil, errors.New("down")
			}
			return up(port)
		})
		w.keep()
		in(10*time.Second, func() { down.Store(false) })
		if a := f.get(":8080"); a.status != 200 || a.after < 10*time.Second || a.after > 11*time.Second {
			t.Errorf("%+v", a)
		}
		down.Store(true)
		f.get(":8080").unserved(t, 20*time.Second)
		f.get(":8080").unserved(t, 0)
		down.Store(false)
		f.get(":8080").served(t, 0)
		// An outage that nobody saw the end of is forgotten.
		down.Store(true)
		f.get(":8080").unserved(t, 20*time.Second)
		<-time.After(time.Minute)
		f.get(":8080").unserved(t, 20*time.Second)
		w.conn.Close()
		stop()
		f.end()
	})
}

// A workstation that sleeps gives no sign of life. What it has under way is answered
// for, and nothing waits for it any more.
func TestSilentWorkstation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		synctest.Wait()
		l, err := n.listen(t.Context(), "asleep")
		if err != nil {
			t.Fatal(err)
		}
		w := f.serving(func(uint16) (net.Conn, error) { return n.dial("asleep") })
		go func() {
			conn, err := l.Accept()
			if err == nil {
				io.Copy(io.Discard, conn)
			}
		}()
		f.get(":8080").lost(t, 20*time.Second)
		if err := w.conn.Wait(); err == nil {
			t.Error("the stream was not closed")
		}
		f.get(":8080").unserved(t, 0)
		l.Close()
		w.served.Wait()
		f.end()
	})
}

// Keepalives keep a stream, on hold too.
func TestKeepalive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		dial, stop := process(t, n)
		synctest.Wait()
		w := f.connect(dial)
		w.keep()
		<-time.After(time.Hour)
		w.request(wire.RequestServe)
		f.get(":8080").served(t, 0)
		w.conn.Close()
		stop()
		f.end()
	})
}

// Whoever cannot say hello does not stay.
func TestStrangersDoNotStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		dial, stop := process(t, n)
		synctest.Wait()
		begun := time.Now()
		var strangers []net.Conn
		for range 20 {
			conn, err := f.dial("127.0.0.1:47811")
			if err != nil {
				t.Fatal(err)
			}
			strangers = append(strangers, conn)
		}
		for _, conn := range strangers {
			io.Copy(io.Discard, conn)
			conn.Close()
		}
		if waited := time.Since(begun); waited > 20*time.Second {
			t.Errorf("they stayed for %s", waited)
		}
		w := f.serving(dial)
		f.get(":8080").served(t, 0)
		w.conn.Close()
		stop()
		f.end()
	})
}
