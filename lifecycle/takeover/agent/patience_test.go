package agent_test

import (
	"bufio"
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

// A lone caller hears of a process that does not listen, however long the workstation
// takes to say so, and also if it says nothing at all.
func TestProcessDoesNotListen(t *testing.T) {
	t.Parallel()
	for name, dialTakes := range map[string]time.Duration{
		"soon": 5 * time.Second, "as long as a caller waits": 20 * time.Second, "later": 90 * time.Second, "never": time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, _ := startInMemory(t, 8080)
				synctest.Wait()
				w := f.serving(func(uint16) (net.Conn, error) {
					<-time.After(dialTakes)
					return nil, errors.New("it does not listen")
				})
				w.keep()
				f.get(":8080").unserved(t, 20*time.Second)
				<-time.After(time.Minute)
				f.get(":8080").unserved(t, 20*time.Second)
				f.end()
				w.served.Wait()
			})
		})
	}
}

// A process that takes connections only to reset them is not asked again and again, and
// a caller who has said nothing does not wait for ever.
func TestProcessResets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := startInMemory(t, 8080)
		synctest.Wait()
		var dialled atomic.Int64
		w := f.serving(func(uint16) (net.Conn, error) {
			dialled.Add(1)
			near, _ := net.Pipe()
			return resetConn{near}, nil
		})
		w.keep()
		begun := time.Now()
		caller, err := f.dial(":8080")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(caller)
		if took := time.Since(begun); len(got) > 0 || err != nil || took < 20*time.Second || took > 30*time.Second {
			t.Errorf("%q, %v after %s", got, err, took)
		}
		if n := dialled.Load(); n < 5 || n > 100 {
			t.Errorf("it was asked %d times", n)
		}
		w.conn.Close()
		f.end()
	})
}

type resetConn struct{ net.Conn }

func (resetConn) Read([]byte) (int, error) { return 0, errors.New("reset") }

// A request that was handed on and lost is not called undone, whatever it was.
func TestRequestIsLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *workstation, process net.Conn){
		"stream":  func(w *workstation, _ net.Conn) { w.conn.Close() },
		"process": func(_ *workstation, process net.Conn) { process.(*net.TCPConn).SetLinger(0); process.Close() },
	} {
		for _, sent := range []string{
			"POST / HTTP/1.1\r\nHost: api\r\nContent-Length: 4\r\n\r\nbody",
			"POST / HTTP/1.1\r\nHost: api\r\nContent-Length: 4\r\n\r\nbo",
			"POST / HTTP/1.1\r\nHost: api\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: api\r\n\r\nGET / HTTP/1.1\r\nHost: api\r\n\r\n",
		} {
			process, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			f := start(t, short, wire.Port{Number: 8080, Probes: []string{wire.ProbeHTTP}})
			w := f.serving(to(process.Addr().String()))
			caller, err := f.dial(":8080")
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(caller, sent)
			local, err := process.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(local, make([]byte, len(sent))); err != nil {
				t.Fatal(err)
			}
			lose(w, local)
			response, err := http.ReadResponse(bufio.NewReader(caller), nil)
			if err != nil {
				t.Fatalf("%s, %q: %v", name, sent, err)
			}
			body, _ := io.ReadAll(response.Body)
			if response.StatusCode != 502 || response.Header.Get("Retry-After") != "" || !response.Close ||
				!strings.Contains(string(body), "may have been processed") || !strings.Contains(string(body), holder) {
				t.Errorf("%s, %q: %s %v %s", name, sent, response.Status, response.Header, body)
			}
			caller.Close()
			local.Close()
			w.conn.Close()
			process.Close()
			f.end()
		}
	}
}

// Who waits for a workstation when the agent has left does not wait on, and keeps
// nothing of it.
func TestLeavingReleasesWhoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _ := startInMemory(t, 8080)
		synctest.Wait()
		begun := time.Now()
		in(time.Second, f.stop)
		f.get(":8080").unserved(t, 6*time.Second) // with the end of the drain
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("the agent stayed for %s", took)
		}
	})
}

// One that the workstation is about to take when the agent has left is still taken.
func TestLeavingServesWhoIsOnTheWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, n := startInMemory(t, 8080)
		dial, stop := process(t, n)
		synctest.Wait()
		w := f.serving(func(port uint16) (net.Conn, error) {
			<-time.After(8 * time.Second)
			return dial(port)
		})
		w.keep()
		in(time.Second, f.stop)
		f.get(":8080").served(t, 8*time.Second)
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		stop()
		w.served.Wait()
	})
}
