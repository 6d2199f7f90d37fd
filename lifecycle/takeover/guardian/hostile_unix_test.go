//go:build unix

package guardian_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// dial connects to the socket as anything may.
func (g *idling) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", g.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// refused wants the next line of a connection to be an answer that says why.
func refused(t *testing.T, conn io.Reader, why string) {
	t.Helper()
	var l guardian.Line
	if err := json.NewDecoder(conn).Decode(&l); err != nil || l.Type != guardian.LineAnswer || l.Class != "usage" || !strings.Contains(l.Error, why) {
		t.Errorf("it is answered %+v, %v; want %q", l, err, why)
	}
	conforms(t, definition(t, "line"), l)
}

// What is no request is answered with what is wrong with it, and the next one is heard.
func TestNoRequests(t *testing.T) {
	t.Parallel()
	g := startIdling(t, 0)
	for line, why := range map[string]string{
		"{}":                                  "of version 0",
		"nonsense":                            "cannot be read",
		"\x00\xff\xfe\x80 \x1b[2J":            "cannot be read",
		`{"version":1,"op":"shell"}`:          `"shell" is nothing that can be asked for`,
		`{"version":1}`:                       "is nothing that can be asked for",
		`{"version":9,"op":"status"}`:         "of version 9, and this guardian speaks 1",
		`{"version":1,"op":"status","all":1}`: "unknown field",
		`{"version":1,"op":"status"} {}`:      "followed by something else",
		`[]`:                                  "cannot be read",
		`{"version":1,"op":"handback","workloads":"api"}`: "cannot be read",
		strings.Repeat("[", 50_000):                       "cannot be read",
		strings.Repeat("y", 100_000):                      "more than 65536 bytes",
	} {
		conn := g.dial(t)
		go func() { _, _ = fmt.Fprintln(conn, line) }() // it may hang up before the end
		refused(t, conn, why)
	}
	// On one connection, after what was wrong.
	conn := g.dial(t)
	if _, err := io.WriteString(conn, "nonsense\n"+`{"version":1,"op":"status","id":"next"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	for _, want := range []string{`"class":"usage"`, `"id":"next"`} {
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("%q, %v; want %s", line, err, want)
		}
	}
}

// Who connects and says nothing, or half a line, is in nobody's way, and there cannot be
// more of them than a number.
func TestManyClients(t *testing.T) {
	t.Parallel()
	g := startIdling(t, 0)
	const most = 128
	var conns []net.Conn
	for range most {
		conn := g.dial(t)
		if _, err := io.WriteString(conn, `{"version":1,"op":"hand`); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	refused(t, g.dial(t), "128 clients are connected")
	_ = conns[0].Close()
	for { // until its place is free
		_, err := g.client.Status(t.Context())
		if err == nil {
			break
		}
		if t.Context().Err() != nil || !errors.Is(err, guardian.ErrEnded) && !strings.Contains(err.Error(), "128 clients") {
			t.Fatal(err)
		}
	}
	g.stop()
	if err := <-g.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// deaf is a client that asks and does not read.
func (g *idling) deaf(t *testing.T) net.Conn {
	t.Helper()
	conn := g.dial(t)
	for range 100 {
		if _, err := io.WriteString(conn, `{"version":1,"op":"attach"}`+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// warn sends as many events, which no socket has room for.
func (g *idling) warn(many int) {
	for n := range many {
		g.events(takeover.Event{Version: takeover.EventVersion, Type: takeover.EventWarning, Time: time.Now(), Target: "devbox", Reason: fmt.Sprint(n, strings.Repeat("x", 500))})
		fmt.Fprintln(g.output, strings.Repeat("y", 500))
	}
}

// Who asks and does not read slows neither the session nor anybody else: the guardian would
// wait longer for it than this test for the guardian.
func TestClientDoesNotRead(t *testing.T) {
	t.Parallel()
	g := startIdling(t, 24*time.Hour)
	deaf := g.deaf(t)
	const many = 5_000
	g.warn(many)
	seen := 0
	all := errors.New("all were seen")
	if err := g.client.Attach(t.Context(), nil, func(l guardian.Line) error {
		if l.Event != nil && l.Event.Type == takeover.EventWarning {
			seen++
		}
		if seen == many {
			return all
		}
		return nil
	}); !errors.Is(err, all) {
		t.Errorf("%d events were seen: %v", seen, err)
	}
	_ = deaf.Close()
	g.stop()
	if err := <-g.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// At the end it is waited for no longer than anybody, however much it asked for.
func TestEndWithClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	g := startIdling(t, time.Second)
	g.deaf(t)
	g.warn(5_000)
	g.stop()
	if err := <-g.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// Who reads too slowly is told so, and not that the session has ended.
func TestObserverCutOff(t *testing.T) {
	t.Parallel()
	g := startIdling(t, time.Second)
	for range 4_000 {
		g.events(takeover.Event{Version: takeover.EventVersion, Type: takeover.EventWarning, Time: time.Now(), Target: "devbox", Reason: strings.Repeat("x", 500)})
	}
	slow := make(chan struct{})
	time.AfterFunc(12*time.Second, func() { close(slow) })
	if err := g.client.Attach(t.Context(), nil, func(guardian.Line) error { <-slow; return nil }); !errors.Is(err, guardian.ErrCutOff) {
		t.Errorf("it ends with %v", err)
	}
}
