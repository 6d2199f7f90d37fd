package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

func to(address string) func(uint16) (net.Conn, error) {
	return func(uint16) (net.Conn, error) { return net.Dial("tcp", address) }
}

// client is a client whose every request is to the agent's port.
func (f *fixture) client(port string) *http.Client {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return f.dial(port)
	}}
	f.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// end stops the agent and waits for it.
func (f *fixture) end() {
	f.t.Helper()
	f.stop()
	if err := <-f.ended; err != nil {
		f.t.Error(err)
	}
}

// short is a session that leaves quickly.
func short(s *wire.Session) {
	s.Drain = wire.Duration(10 * time.Millisecond)
}

func TestHTTPGoesToTheProcess(t *testing.T) {
	t.Parallel()
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Write(body)
	}))
	defer process.Close()
	f := start(t, short, wire.Port{Number: 8080, Probes: []string{wire.ProbeHTTP}}, wire.Port{Number: 9090})
	defer f.end()
	w := f.serving(to(process.Listener.Addr().String()))
	w.keep()
	defer w.conn.Close()
	if w.welcome.Pod != "pod-1" || w.welcome.Version != wire.Version || w.welcome.Started.IsZero() {
		t.Errorf("%+v", w.welcome)
	}
	body := make([]byte, 3<<20)
	rand.Read(body)
	for _, port := range []string{":8080", ":9090"} {
		client := f.client(port)
		for range 3 {
			response, err := client.Post("http://api/", "", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || !bytes.Equal(got, body) {
				t.Fatalf("%s: %d bytes, %v", port, len(got), err)
			}
		}
	}
}

// The kubelet is answered whoever serves, and everybody else by the process.
func TestHTTPProbe(t *testing.T) {
	t.Parallel()
	f := start(t, short, wire.Port{Number: 8080, Probes: []string{wire.ProbeHTTP}})
	defer f.end()
	request, err := http.NewRequest("GET", "http://api/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", "kube-probe/1.37")
	response, err := f.client(":8080").Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !response.Close {
		t.Errorf("%+v", response)
	}
}

func TestOnlyTheSessionsKeyGetsIn(t *testing.T) {
	t.Parallel()
	f := start(t, short, wire.Port{Number: 8080})
	defer f.end()
	if _, err := f.tryConnect(newKey(t), f.session.ID, nil); err == nil {
		t.Error("another key got in")
	}
	_, err := f.tryConnect(f.key, "s2", nil)
	var no refused
	if !errors.As(err, &no) || !strings.Contains(string(no), "another session") {
		t.Errorf("another session: %v", err)
	}
}

func TestNewerStreamReplacesTheOlder(t *testing.T) {
	t.Parallel()
	process := httptest.NewServer(http.NotFoundHandler())
	defer process.Close()
	f := start(t, short, wire.Port{Number: 8080})
	defer f.end()
	first := f.serving(func(uint16) (net.Conn, error) { return nil, errors.New("the older one serves") })
	second := f.connect(to(process.Listener.Addr().String()))
	defer second.conn.Close()
	if err := first.conn.Wait(); err == nil {
		t.Error("the older one ended without an error")
	}
	second.request(wire.RequestServe)
	response, err := f.client(":8080").Get("http://api/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Error(response.Status)
	}
}

// A port that is taken ends the agent, which names it and leaves nothing open.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	var control net.Listener
	err := agent.Run(t.Context(), agent.Config{
		Session: newSession(newKey(t), wire.Port{Number: 8080}),
		Listen: func(_ context.Context, address string) (net.Listener, error) {
			if address == ":8080" {
				return nil, errors.New("address already in use")
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			control = l
			return l, err
		},
	})
	if err == nil || !strings.Contains(err.Error(), ":8080") || !strings.Contains(err.Error(), workload) {
		t.Error(err)
	}
	if _, err := control.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the stream's listener is open: %v", err)
	}
}

func TestSessionIsChecked(t *testing.T) {
	t.Parallel()
	if err := agent.Run(t.Context(), agent.Config{}); !errors.Is(err, wire.ErrSession) {
		t.Error(err)
	}
}

// A request that is under way when the agent is told to end finishes, new ones are
// taken while it drains, and callers are sent away with their answers.
func TestDrain(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			w.Write([]byte("half "))
			w.(http.Flusher).Flush()
			close(begun)
			<-finish
			w.Write([]byte("whole"))
			return
		}
		w.Write([]byte("quick"))
	}))
	defer process.Close()
	f := start(t, func(s *wire.Session) { s.Drain = wire.Duration(2 * time.Second) }, wire.Port{Number: 8080})
	w := f.serving(to(process.Listener.Addr().String()))
	w.keep()
	client := f.client(":8080")
	idle, err := f.dial(":8080")
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()

	var wg sync.WaitGroup
	wg.Go(func() {
		response, err := client.Get("http://api/slow")
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		got, err := io.ReadAll(response.Body)
		if err != nil || string(got) != "half whole" {
			t.Errorf("%q, %v", got, err)
		}
	})
	<-begun
	f.stop()
	<-w.draining
	response, err := client.Get("http://api/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if !response.Close {
		t.Error("the caller is not told to go elsewhere")
	}
	// What is idle is closed only after the drain.
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("idle: %v", err)
	}
	close(finish)
	wg.Wait()
	if err := <-f.ended; err != nil {
		t.Error(err)
	}
	w.served.Wait()
}

// A connection that is open for good ends with the grace period.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	process, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	f := start(t, func(s *wire.Session) { s.Drain, s.Grace = 0, wire.Duration(3*time.Second) }, wire.Port{Number: 8080})
	f.serving(to(process.Addr().String()))
	caller, err := f.dial(":8080")
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	conn, err := process.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	caller.Write([]byte("\x00raw\n"))
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	f.end()
	if _, err := caller.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
}
