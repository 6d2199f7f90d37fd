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
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// idleSession waits for an API server that never answers: what a guardian does with its
// clients is the same whatever its session does.
func idleSession(ctx context.Context, folder string, events takeover.Sink) (*takeover.Session, func(), error) {
	stall, release := context.WithCancel(ctx)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stall.Done():
		case <-r.Context().Done():
		}
	}))
	s, err := takeover.New(takeover.Config{
		Lifecycle: &lifecycle.Lifecycle{Config: lifecycle.Config{Target: "devbox"}}, REST: &rest.Config{Host: api.URL}, Namespace: "pharos", Folder: folder, Events: events,
		Facts:  func(context.Context) (takeover.Facts, error) { return takeover.Facts{}, errors.New("nothing is known") },
		Agents: struct{ takeover.Agents }{}, Workstation: nothingLeft{},
	})
	return s, func() { release(); api.Close() }, err
}

// nothingLeft is a workstation on which nothing runs.
type nothingLeft struct{ takeover.Workstation }

func (nothingLeft) Recover() error { return nil }

// idle is the process of such a session.
func (r role) idle(ctx context.Context) error {
	var release func()
	s, err := guardian.Listen(guardian.Config{Folder: r.Folder, New: func(events takeover.Sink, _ func(string) io.Writer) (session *takeover.Session, err error) {
		session, release, err = idleSession(ctx, r.Folder, events)
		return session, err
	}})
	if err != nil {
		return err
	}
	defer release()
	return s.Serve(ctx)
}

// idling is a guardian in this process whose session sends events by emit and has output.
type idling struct {
	client *guardian.Client
	folder string
	socket string
	events takeover.Sink
	output io.Writer
	ended  chan error
	stop   func()
}

func startIdling(t *testing.T) *idling {
	t.Helper()
	g := &idling{folder: filepath.Join(t.TempDir(), "takeover"), ended: make(chan error, 1)}
	var release func()
	s, err := guardian.Listen(guardian.Config{Folder: g.folder, Linger: time.Millisecond, New: func(events takeover.Sink, output func(string) io.Writer) (session *takeover.Session, err error) {
		g.events, g.output = events, output("api")
		session, release, err = idleSession(context.Background(), g.folder, events)
		return session, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = sync.OnceFunc(func() {
		cancel()
		release()
	})
	go func() { g.ended <- s.Serve(ctx) }()
	t.Cleanup(g.stop)
	var place struct{ Socket string }
	doc, err := os.ReadFile(filepath.Join(g.folder, "guardian.json"))
	if err != nil || json.Unmarshal(doc, &place) != nil {
		t.Fatal(err, string(doc))
	}
	g.socket = place.Socket
	if g.client, err = guardian.Connect(t.Context(), g.folder); err != nil {
		t.Fatal(err)
	}
	return g
}

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
	g := startIdling(t)
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
	g := startIdling(t)
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

// Who asks and does not read slows neither the session nor anybody else, and is waited
// for no longer than others may have to wait at the end.
func TestClientDoesNotRead(t *testing.T) {
	t.Parallel()
	g := startIdling(t)
	deaf := g.dial(t)
	for range 100 {
		if _, err := io.WriteString(deaf, `{"version":1,"op":"attach"}`+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	const many = 5_000
	began := time.Now()
	for n := range many {
		g.events(takeover.Event{Version: takeover.EventVersion, Type: takeover.EventWarning, Time: time.Now(), Target: "devbox", Reason: fmt.Sprint(n, strings.Repeat("x", 500))})
		fmt.Fprintln(g.output, strings.Repeat("y", 500))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%d events and lines took %s", many, took)
	}
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
	g.stop()
	if err := <-g.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// Who reads too slowly is told so, and not that the session has ended.
func TestObserverCutOff(t *testing.T) {
	t.Parallel()
	g := startIdling(t)
	for range 4_000 {
		g.events(takeover.Event{Version: takeover.EventVersion, Type: takeover.EventWarning, Time: time.Now(), Target: "devbox", Reason: strings.Repeat("x", 500)})
	}
	slow := make(chan struct{})
	time.AfterFunc(12*time.Second, func() { close(slow) })
	if err := g.client.Attach(t.Context(), nil, func(guardian.Line) error { <-slow; return nil }); !errors.Is(err, guardian.ErrCutOff) {
		t.Errorf("it ends with %v", err)
	}
}

// A guardian that is stopped is no reason to wait for ever, whatever was asked, and one
// that was killed meanwhile is told from it.
func TestGuardianStopped(t *testing.T) {
	t.Parallel()
	r := role{Idle: true, Folder: filepath.Join(t.TempDir(), "takeover")}
	c, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pid := c.PID()
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	asked := map[string]func() error{
		"connect":  func() error { _, err := guardian.Connect(t.Context(), r.Folder); return err },
		"status":   func() error { _, err := c.Status(t.Context()); return err },
		"attach":   func() error { return c.Attach(t.Context(), nil, func(guardian.Line) error { return nil }) },
		"logs":     func() error { return c.Logs(t.Context(), true, func(guardian.LogLine) {}) },
		"handback": func() error { return c.HandBack(t.Context()) },
		"restart":  func() error { return c.Restart(t.Context()) },
		"stop":     func() error { return c.Stop(t.Context()) },
	}
	var wg sync.WaitGroup
	for name, ask := range asked {
		wg.Go(func() {
			err := ask()
			if !errors.Is(err, guardian.ErrNoAnswer) || !strings.Contains(err.Error(), fmt.Sprintf("kill -CONT %d\n", pid)) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := guardian.Connect(t.Context(), r.Folder); !errors.Is(err, guardian.ErrNotRunning) {
		t.Errorf("killed: %v", err)
	}
}

// One that is killed under an observer has ended, and one that was stopped for a moment goes
// on.
func TestGuardianKilledUnderAnObserver(t *testing.T) {
	t.Parallel()
	r := role{Idle: true, Folder: filepath.Join(t.TempDir(), "takeover")}
	c, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pid := c.PID()
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	if err := errors.Join(syscall.Kill(pid, syscall.SIGSTOP), syscall.Kill(pid, syscall.SIGCONT)); err != nil {
		t.Fatal(err)
	}
	if err := c.Attach(t.Context(), nil, func(l guardian.Line) error {
		if l.Type == guardian.LineStatus {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
		return nil
	}); err != nil {
		t.Errorf("attached to one that is killed: %v", err)
	}
	if _, err := guardian.Connect(t.Context(), r.Folder); !errors.Is(err, guardian.ErrNotRunning) {
		t.Errorf("killed: %v", err)
	}
}

// A folder that others may look into is closed to them, and what is in it is private.
func TestGuardianPrivate(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "takeover")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	r := role{Idle: true, Folder: folder}
	c, err := r.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(c.PID(), syscall.SIGKILL) }()
	for path, mode := range map[string]os.FileMode{"": 0o700, "guardian.sock": 0o600, "guardian.json": 0o600, "guardian.log": 0o600} {
		info, err := os.Stat(filepath.Join(folder, path))
		if err != nil && path == "guardian.sock" {
			continue // its path is too long on this machine, and it is elsewhere
		}
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q is %v, %v", path, info.Mode(), err)
		}
	}
	if os.Getuid() != 0 {
		return // only root can be another user as well
	}
	// Another user gets nothing even where the modes would let them.
	var place struct{ Socket string }
	doc, err := os.ReadFile(filepath.Join(folder, "guardian.json"))
	if err != nil || json.Unmarshal(doc, &place) != nil {
		t.Fatal(err, string(doc))
	}
	for path := filepath.Dir(place.Socket); path != "/" && path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(place.Socket, 0o666); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(place.Socket), "ask")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]string{0: `"type":"status"`, 65534: ""} {
		cmd := exec.Command(program)
		task, _ := json.Marshal(role{Ask: place.Socket})
		cmd.Env = append(os.Environ(), roleEnv+"="+string(task))
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if got := string(out); err != nil || (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("user %d is told %q, %v", uid, got, err)
		}
	}
}

// copyProgram copies this program to where every user may run it.
func copyProgram(to string) error {
	from, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, data, 0o755), os.Chmod(to, 0o755))
}

// askStatus prints what a socket answers to whom this process is.
func (r role) askStatus() error {
	conn, err := net.Dial("unix", r.Ask)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, `{"version":1,"op":"status"}`+"\n")
	line, _ := bufio.NewReader(conn).ReadString('\n')
	fmt.Print(line)
	return nil
}
