//go:build unix

package runtime_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// serving starts a program in a role that serves the content "0", and returns what
// saves another content.
func serving(t *testing.T, role string) (r *running, save func(content string)) {
	t.Helper()
	root, port := t.TempDir(), freePort(t)
	write(t, root, "content", "0")
	c := config(t, root, "content")
	self(t, &c, role, port)
	r = start(t, c)
	r.until(0, runtime.EventReady)
	return r, func(content string) { write(t, root, "content", content) }
}

func dial(t *testing.T, r *running) net.Conn {
	t.Helper()
	conn, err := r.Dial(t.Context(), 80)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A kept-alive connection outlives the processes that serve it, for any method.
func TestConnectionOutlivesProcesses(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "web")
	conn, at := dial(t, r), 0
	answers := bufio.NewReader(conn)
	for i := range 3 {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			_, err := fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", method)
			must(t, err)
			answer, err := http.ReadResponse(answers, nil)
			must(t, err)
			body, err := io.ReadAll(answer.Body)
			must(t, err)
			if want := fmt.Sprintf("%d of %d", i, r.State().PID); string(body) != want {
				t.Errorf("it answers %q, want %q", body, want)
			}
		}
		save(fmt.Sprint(i + 1))
		_, at = r.until(at, runtime.EventStopped)
		_, at = r.until(at, runtime.EventReady)
	}
}

// A request that has begun ends in the process that it began in, and the next one
// waits for the next process.
func TestRequestUnderWay(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "web")
	first := r.State().PID
	body, end := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://web/long", body)
	must(t, err)
	answer, err := client(r, 80).Do(request)
	must(t, err)
	defer answer.Body.Close()

	save("1")
	r.until(0, runtime.EventStopping)
	next := make(chan string, 1)
	go func() {
		text, err := fetch(t.Context(), client(r, 80), http.MethodGet, "/", "")
		next <- fmt.Sprint(text, err)
	}()
	_, err = io.WriteString(end, "bye")
	must(t, err)
	must(t, end.Close())
	text, err := io.ReadAll(answer.Body)
	if want := fmt.Sprintf("bye of %d", first); err != nil || string(text) != want {
		t.Errorf("it answers %q, %v, want %q", text, err, want)
	}
	if got, want := <-next, fmt.Sprintf("1 of %d<nil>", r.State().PID); got != want || r.State().PID == first {
		t.Errorf("the next one answers %q, want %q", got, want)
	}
}

// What never ends keeps no process from being exchanged.
func TestEventStreamIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "web")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://web/events", nil)
	must(t, err)
	answer, err := client(r, 80).Do(request)
	must(t, err)
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	line, err := lines.ReadString('\n')
	if err != nil || line != "data: 1\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	save("1")
	_, at := r.until(0, runtime.EventStopped)
	r.until(at, runtime.EventReady)
	if rest, err := io.ReadAll(lines); err == nil {
		t.Errorf("the stream ended as if it were complete, with %q", rest)
	}
}

// After an upgrade bytes are passed on as they are.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "web")
	conn := dial(t, r)
	written := make(chan error, 1)
	go func() { // which takes the end of what comes behind the request only after the answer
		_, err := io.WriteString(conn, "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nGET / HTTP/1.1\r\n")
		written <- err
	}()
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	must(t, err)
	line, err := in.ReadString('\n')
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols || line != "GET / HTTP/1.1\r\n" {
		t.Errorf("got %s and %q, %v", answer.Status, line, err)
	}
	must(t, <-written)
	save("1")
	_, at := r.until(0, runtime.EventStopped)
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		t.Errorf("after the end of its process it said %q", rest)
	}
	r.until(at, runtime.EventReady)
}

// Any other protocol goes through, also one in which the server speaks first, with
// each side's end of its own; and a connection that nothing has come of yet is given
// to the next process.
func TestOtherProtocols(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "raw")
	for _, text := range []string{"", "G", "EHLO x\r\n", "GET / HTTP/1.1\r\nHost: ", strings.Repeat("\x00", 1<<20)} {
		conn := dial(t, r)
		in := bufio.NewReader(conn)
		greeting, err := in.ReadString('\n')
		if want := fmt.Sprintf("220 %d\n", r.State().PID); err != nil || greeting != want {
			t.Errorf("it says %q, %v, want %q", greeting, err, want)
		}
		_, err = io.WriteString(conn, text)
		must(t, err)
		must(t, conn.(interface{ CloseWrite() error }).CloseWrite())
		rest, err := io.ReadAll(in)
		if want := fmt.Sprintf("%d bytes\n", len(text)); err != nil || string(rest) != want {
			t.Errorf("it says %q, %v, want %q", rest, err, want)
		}
	}
	save("1")
	_, at := r.until(0, runtime.EventStopped)
	r.until(at, runtime.EventReady)
	if greeting, err := bufio.NewReader(dial(t, r)).ReadString('\n'); err != nil || greeting != fmt.Sprintf("220 %d\n", r.State().PID) {
		t.Errorf("the next process says %q, %v", greeting, err)
	}
}

// Bytes that begin as a request and go on as none are passed on, too.
func TestNotQuiteHTTP(t *testing.T) {
	t.Parallel()
	r, _ := serving(t, "web")
	for _, text := range []string{
		"GET / HTTP/1.1\r\n: \r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
		"GET /",
	} {
		conn := dial(t, r)
		_, err := io.WriteString(conn, text)
		must(t, err)
		must(t, conn.(interface{ CloseWrite() error }).CloseWrite())
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusBadRequest && answer.StatusCode != http.StatusOK {
			t.Errorf("to %q: %v, %v", text, answer, err)
		}
	}
}

// Connections end with the Runtime, and with what waits for a process.
func TestConnectionsEnd(t *testing.T) {
	t.Parallel()
	r, _ := serving(t, "web")
	conn := dial(t, r)
	_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	must(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	_, err = io.ReadAll(answer.Body)
	must(t, err)
	idle := dial(t, r)
	must(t, r.stop())
	for _, c := range []net.Conn{conn, idle} {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes were read after the end", n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Dial(ctx, 80); err == nil {
		t.Error("a connection was made after the end")
	}
}

// A port that the program does not listen on keeps it from being ready, and not from
// serving the others.
func TestPortThatNobodyListensOn(t *testing.T) {
	t.Parallel()
	root, port, other := t.TempDir(), freePort(t), freePort(t)
	write(t, root, "content", "0")
	c := config(t, root, "content")
	self(t, &c, "web", port)
	c.Ports = append(c.Ports, runtime.Port{Container: 9090, Local: other})
	r := start(t, c)
	r.until(0, runtime.EventStarted)
	if got, want := get(t, client(r, 80), "/"), fmt.Sprintf("0 of %d", r.State().PID); got != want || r.State().Phase != runtime.Starting {
		t.Errorf("it answers %q in the state %+v", got, r.State())
	}
	if _, err := r.Dial(t.Context(), 9090); !errors.Is(err, runtime.ErrNotServing) || !strings.Contains(err.Error(), fmt.Sprintf("does not listen on port %d", other)) {
		t.Errorf("a connection there: %v", err)
	}
	if e, _ := r.until(0, runtime.EventSilent); !strings.Contains(e.Reason, fmt.Sprint(other)) {
		t.Errorf("the event is %+v", e)
	}
	if _, err := r.Dial(t.Context(), 1); !errors.Is(err, runtime.ErrNotServing) {
		t.Errorf("a connection to another port: %v", err)
	}
}

// What waits for a process does so for a time that is bounded.
func TestHoldIsBounded(t *testing.T) {
	t.Parallel()
	root, port := t.TempDir(), freePort(t)
	write(t, root, "content", "0")
	c := config(t, root, "content")
	self(t, &c, "deaf", port)
	c.Hold = 50 * time.Millisecond
	r := start(t, c)
	r.until(0, runtime.EventStarted)
	if _, err := r.Dial(t.Context(), 80); !errors.Is(err, runtime.ErrNotServing) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("got %v", err)
	}
}
