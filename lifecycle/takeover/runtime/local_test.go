//go:build unix

package runtime_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// A build that fails is shown with its places, and the process before goes on.
func TestBuildFails(t *testing.T) {
	t.Parallel()
	root, port := goModule(t), freePort(t)
	write(t, root, "lib/lib.go", "package lib\n\nconst Name = \"a\"\n")
	write(t, root, "cmd/web/lib.go", "package main\n\nimport \"example.com/web/lib\"\n\nvar _ = lib.Name\n")
	c := config(t, root, "**", "!**/*.md")
	c.Go = &catalogue.GoBuild{Package: "./cmd/web", LDFlags: []string{"-X", "main.unused=a b {{.OS}}"}, Tags: []string{"some"}}
	c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port))
	c.Ports = []runtime.Port{{Container: 8080, Local: port}}
	r := start(t, c)
	r.until(0, runtime.EventReady)
	web := client(r, 8080)

	write(t, root, "lib/lib.go", "package lib\n\nconst Name = other\n\nfunc f() { undefined() }\n")
	e, at := r.until(0, runtime.EventBuildFailed)
	want := []runtime.Problem{
		{File: "lib/lib.go", Line: 3, Column: 14, Message: "undefined: other"},
		{File: "lib/lib.go", Line: 5, Column: 12, Message: "undefined: undefined"},
	}
	if !slices.Equal(e.Problems, want) {
		t.Errorf("the problems are %+v", e.Problems)
	}
	if s := r.State(); s.Phase != runtime.Serving || s.Building || !slices.Equal(s.Problems, want) {
		t.Errorf("the state is %+v", s)
	}
	if got := get(t, web, "/"); got != version(0) {
		t.Errorf("the process answers %q", got)
	}
	if e.PID != r.State().PID || e.Generation != 1 {
		t.Errorf("the event names process %d of generation %d, and %d goes on", e.PID, e.Generation, r.State().PID)
	}
	r.printed("undefined: other")

	write(t, root, "lib/lib.go", "package lib\n\nconst Name = \"b\"\n")
	write(t, root, "cmd/web/version.go", goVersion(1))
	_, at = r.until(at, runtime.EventBuilt)
	r.until(at, runtime.EventReady)
	if got := get(t, web, "/"); got != version(1) {
		t.Errorf("the process answers %q", got)
	}
	if s := r.State(); s.Problems != nil || s.Generation != 2 {
		t.Errorf("the state is %+v", s)
	}
	// What is no input builds nothing.
	count := len(r.events.all())
	write(t, root, "cmd/web/notes.md", "x")
	write(t, root, "cmd/web/version.go", goVersion(2))
	e, _ = r.until(count, runtime.EventChanged)
	if !slices.Equal(e.Paths, []string{"cmd/web/version.go"}) {
		t.Errorf("the paths are %q", e.Paths)
	}
}

// Without a program nobody serves until an edit mends it.
func TestFirstBuildFails(t *testing.T) {
	t.Parallel()
	root, port := goModule(t), freePort(t)
	write(t, root, "cmd/web/version.go", "package main\n")
	c := config(t, root, "**")
	c.Go = &catalogue.GoBuild{Package: "cmd/web"}
	c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port))
	c.Ports = []runtime.Port{{Container: 8080, Local: port}}
	r := start(t, c)
	if e, _ := r.until(0, runtime.EventBuildFailed); e.PID != 0 || e.Generation != 0 {
		t.Errorf("nothing ran before, and the event says %+v", e)
	}
	if _, err := r.Dial(t.Context(), 8080); !errors.Is(err, runtime.ErrNotServing) || r.State().Phase != runtime.Failed {
		t.Errorf("got %v, and the state is %+v", err, r.State())
	}
	write(t, root, "cmd/web/version.go", goVersion(1))
	r.until(0, runtime.EventReady)
	if got := get(t, client(r, 8080), "/"); got != version(1) {
		t.Errorf("the process answers %q", got)
	}
}

// A process that crashes is restarted as often as the budget says, and then parked
// until an edit, or a person; also when the Runtime starts anew.
func TestCrashes(t *testing.T) {
	t.Parallel()
	root, port := t.TempDir(), freePort(t)
	write(t, root, "content", "crash")
	c := config(t, root, "content")
	self(t, &c, "web", port)
	c.Policy = supervise.Policy{Restarts: 2, Pause: time.Millisecond}
	r := start(t, c)
	e, at := r.until(0, runtime.EventParked)
	if e.Generation != 3 || !strings.Contains(e.Reason, "2 restarts did not help") || !strings.Contains(e.Reason, "exit status 4") {
		t.Errorf("it was parked with %+v", e)
	}
	_, err := r.Dial(t.Context(), 80)
	if s := r.State(); s.Phase != runtime.Parked || !errors.Is(err, runtime.ErrNotServing) || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("the state is %+v, and a connection fails with %v", s, err)
	}
	if err := r.Restart(t.Context()); !errors.Is(err, runtime.ErrCrashed) || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("a restart of what crashes: %v", err)
	}
	e, _ = r.until(at, runtime.EventParked)
	if e.Generation != 6 {
		t.Errorf("a person has restarted it: %+v", e)
	}

	must(t, r.stop())
	again := start(t, c)
	_, _ = again.until(0, runtime.EventParked)
	if s := again.State(); s.Phase != runtime.Parked || s.Generation != 0 {
		t.Errorf("the next one has the state %+v", s)
	}
	write(t, root, "content", "mended")
	again.until(0, runtime.EventReady)
	if got := get(t, client(again, 80), "/"); !strings.HasPrefix(got, "mended of ") {
		t.Errorf("it answers %q", got)
	}
	// A crash of what ran well is mended by a restart.
	pid := again.State().PID
	p, err := os.FindProcess(pid)
	must(t, err)
	must(t, p.Kill())
	e, at = again.until(0, runtime.EventCrashed)
	if !strings.Contains(e.Reason, "signal: killed") {
		t.Errorf("it crashed with %+v", e)
	}
	again.until(at, runtime.EventReady)
	if got := get(t, client(again, 80), "/"); got != fmt.Sprintf("mended of %d", again.State().PID) || again.State().Restarts != 1 {
		t.Errorf("it answers %q, and the state is %+v", got, again.State())
	}
}

// A program that cannot be started is one that crashes.
func TestNoProgram(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a", "")
	for _, command := range []string{"no-such-program", "./a", "/nowhere/x"} {
		c := config(t, root, "a")
		c.Command = []string{command}
		c.Policy = supervise.Policy{Restarts: 1, Pause: time.Millisecond}
		r := start(t, c)
		if e, _ := r.until(0, runtime.EventParked); !strings.Contains(e.Reason, command) {
			t.Errorf("it was parked with %+v", e)
		}
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	root, port := t.TempDir(), freePort(t)
	write(t, root, "content", "x")
	for _, host := range []string{"127.0.0.1", "[::1]", ""} {
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port))
		must(t, err)
		c := config(t, root, "content")
		self(t, &c, "web", port)
		local, err := runtime.New(c)
		must(t, err)
		err = local.Run(t.Context())
		in, ok := errors.AsType[*runtime.PortError](err)
		if !errors.Is(err, runtime.ErrPortInUse) || !ok || in.Port != port || !strings.HasSuffix(in.Owner, fmt.Sprintf("(process %d)", os.Getpid())) {
			t.Errorf("on %q: %v", host, err)
		}
		must(t, l.Close())
	}
}

// A program that reads its files again when it is sent a signal is not restarted.
func TestSignal(t *testing.T) {
	t.Parallel()
	root, port := t.TempDir(), freePort(t)
	write(t, root, "content", "one")
	c := config(t, root, "content")
	self(t, &c, "web", port)
	c.Reload = catalogue.ReloadSignal
	r := start(t, c)
	r.until(0, runtime.EventReady)
	pid := r.State().PID
	write(t, root, "content", "two")
	r.until(0, runtime.EventSignalled)
	for want := fmt.Sprintf("two of %d", pid); get(t, client(r, 80), "/") != want; {
	}
	if s := r.State(); s.Generation != 1 || s.Phase != runtime.Serving {
		t.Errorf("the state is %+v", s)
	}
}

// What cannot be watched for a while ends no process: that goes on, and takes up what was
// edited meanwhile when files can be watched again.
func TestWatchFails(t *testing.T) {
	t.Parallel()
	root, port := filepath.Join(t.TempDir(), "root"), freePort(t)
	write(t, root, "content", "one")
	c := config(t, root, "content")
	self(t, &c, "web", port)
	r := start(t, c)
	_, at := r.until(0, runtime.EventReady)
	pid := r.State().PID

	must(t, os.Rename(root, root+".away"))
	e, at := r.until(at, runtime.EventTrouble)
	if !strings.Contains(e.Reason, "edits are not seen") || !strings.Contains(e.Reason, root) {
		t.Errorf("the event is %+v", e)
	}
	if got, want := get(t, client(r, 80), "/"), fmt.Sprintf("one of %d", pid); got != want {
		t.Errorf("it answers %q, want %q", got, want)
	}
	write(t, root+".away", "content", "two")
	must(t, os.Rename(root+".away", root))
	_, at = r.until(at, runtime.EventWatching)
	r.until(at, runtime.EventReady)
	if got, want := get(t, client(r, 80), "/"), fmt.Sprintf("two of %d", r.State().PID); got != want {
		t.Errorf("it answers %q, want %q", got, want)
	}
}

// Without ports a process is ready when it has started; what does not listen is not
// connected to.
func TestWithoutPorts(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a", "")
	c := config(t, root, "a")
	self(t, &c, "deaf", 0)
	r := start(t, c)
	r.until(0, runtime.EventReady)
	r.printed("here")
	if _, err := r.Dial(t.Context(), 80); !errors.Is(err, runtime.ErrNotServing) {
		t.Errorf("got %v", err)
	}
	if e, _ := r.until(0, runtime.EventStarted); e.PID != r.State().PID {
		t.Errorf("the event is %+v and the state %+v", e, r.State())
	}
	must(t, r.stop())
	if e, _ := r.until(0, runtime.EventStopped); e.Reason != "" {
		t.Errorf("it was not left to end: %+v", e)
	}
}

// Names that mean something elsewhere mean nothing here.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	name := "-o $(touch x) 'a' \"b\" ;\n{{.OS}} *"
	root, port := filepath.Join(t.TempDir(), name), freePort(t)
	write(t, root, name+"/content", "well")
	c := config(t, root, "**")
	self(t, &c, "web", port)
	c.Dir = filepath.Join(root, name)
	link := filepath.Join(c.Dir, "-p program")
	must(t, os.Symlink(c.Command[0], link))
	c.Command = []string{"./-p program", "$HOME", "`x`", "\n"}
	c.Name = "\x1b[31m"
	r := start(t, c)
	r.until(0, runtime.EventReady)
	write(t, root, name+"/content", "better")
	e, at := r.until(0, runtime.EventChanged)
	r.until(at, runtime.EventReady)
	if got := get(t, client(r, 80), "/"); !strings.HasPrefix(got, "better of ") || !slices.Equal(e.Paths, []string{name + "/content"}) {
		t.Errorf("it answers %q after a change of %q", got, e.Paths)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := config(t, t.TempDir(), "a")
	good.Command = []string{"x"}
	if _, err := runtime.New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*runtime.Config){
		"no name":          func(c *runtime.Config) { c.Name = "" },
		"a relative root":  func(c *runtime.Config) { c.Root = "x" },
		"a relative dir":   func(c *runtime.Config) { c.Dir = "x" },
		"no inputs":        func(c *runtime.Config) { c.Inputs = catalogue.Patterns{} },
		"nothing to run":   func(c *runtime.Config) { c.Command = nil },
		"two to run":       func(c *runtime.Config) { c.Go = &catalogue.GoBuild{Package: "."} },
		"no temp":          func(c *runtime.Config) { c.Command, c.Go, c.Temp = nil, &catalogue.GoBuild{Package: "."}, "" },
		"package outside":  func(c *runtime.Config) { c.Command, c.Go = nil, &catalogue.GoBuild{Package: "../x"} },
		"no signal":        func(c *runtime.Config) { c.Reload, c.Signal = catalogue.ReloadSignal, "SIGNOT" },
		"no reload":        func(c *runtime.Config) { c.Reload = "x" },
		"a zero byte":      func(c *runtime.Config) { c.Env = []string{"A=\x00"} },
		"port 0":           func(c *runtime.Config) { c.Ports = []runtime.Port{{}} },
		"a port twice":     func(c *runtime.Config) { c.Ports = []runtime.Port{{Container: 1, Local: 3}, {Container: 2, Local: 3}} },
		"a negative grace": func(c *runtime.Config) { c.Grace = -1 },
		"no store":         func(c *runtime.Config) { c.Store = nil },
		"no environment":   func(c *runtime.Config) { c.Environ = nil },
	} {
		c := good
		change(&c)
		if _, err := runtime.New(c); !errors.Is(err, runtime.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The private folder of a build goes with the Runtime.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	root, port := goModule(t), freePort(t)
	c := config(t, root, "**")
	c.Go = &catalogue.GoBuild{Package: "cmd/web"}
	c.Env = append(c.Env, fmt.Sprintf("PORT=%d", port), "SECRET=canary")
	c.Ports = []runtime.Port{{Container: 8080, Local: port}}
	r := start(t, c)
	r.until(0, runtime.EventReady)
	if got := get(t, &http.Client{Transport: client(r, 8080).Transport}, "/"); got != version(0) {
		t.Errorf("it answers %q", got)
	}
	must(t, r.stop())
	if left, err := os.ReadDir(c.Temp); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
