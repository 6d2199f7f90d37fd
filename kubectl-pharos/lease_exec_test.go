package main

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
)

// waits is a command that says when it runs, and ends in its own way on SIGTERM.
const waits = `trap 'echo stopped >&2; exit 7' TERM; echo ready >&2; tail -f /dev/null & wait`

// execTest is a checkout whose target is borrowed as long as a command runs.
type execTest struct {
	t   *testing.T
	dir string
	env []string
	p   *process
}

func newExecTest(t *testing.T, script string) *execTest {
	t.Helper()
	c := devtest.Cluster(t)
	e := &execTest{t: t, dir: waitingRepository(t, devtest.Namespace(t, c)), env: kubeconfigOf(t, c.Config())}
	e.run(e.env, script)
	return e
}

func (e *execTest) run(env []string, script string) {
	e.t.Helper()
	e.p = start(e.t, e.dir, env, "lease", "acquire", "--purpose", "a test", "--exec", "--", "sh", "-c", script)
	e.p.await("ready")
	if held := e.held(); held != "true" {
		e.t.Fatalf("while the command runs, held is %s", held)
	}
}

func (e *execTest) held() string {
	e.t.Helper()
	show := exec.CommandContext(e.t.Context(), program, "lease", "show", "-o", "jsonpath={.held}")
	show.Dir, show.Env = e.dir, append(os.Environ(), e.env...)
	out, err := show.Output()
	if err != nil {
		e.t.Fatal(err)
	}
	return string(out)
}

// A signal is the command's, which ends as it does; then the target is handed back.
func TestExecPassesSignalsOn(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			name := map[os.Signal]string{syscall.SIGTERM: "TERM", os.Interrupt: "INT", syscall.SIGHUP: "HUP"}[signal]
			e := newExecTest(t, strings.Replace(waits, "TERM", name, 1))
			if stderr, code := e.p.end(signal); code != 7 || !strings.Contains(stderr, "stopped\n") || strings.Contains(stderr, "error") || strings.Contains(stderr, "interrupted") {
				t.Errorf("exit code %d:\n%s", code, stderr)
			}
			if held := e.held(); held != "false" {
				t.Errorf("afterwards held is %s", held)
			}
		})
	}
}

// When it is killed, so is the command with all that it started, and the lease is
// still there to be released.
func TestExecIsKilled(t *testing.T) {
	t.Parallel()
	e := newExecTest(t, waits)
	if stderr, code := e.p.end(syscall.SIGKILL); code != -1 || strings.Contains(stderr, "stopped") { // all of them have closed stderr
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	if held := e.held(); held != "true" {
		t.Errorf("held is %s", held)
	}
	if out, code := runs(t, e.dir, e.env, "lease", "release"); code != exitDone {
		t.Errorf("release: exit code %d\n%s", code, out)
	}
}

// A lease that is broken ends the command, also one that does not want to end.
func TestExecLosesTheLease(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"gentle":   waits,
		"stubborn": `trap '' TERM; echo ready >&2; tail -f /dev/null & wait; tail -f /dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExecTest(t, script)
			if out, code := runs(t, e.dir, e.env, "lease", "break", "--reason", "a hotfix has to go out"); code != exitDone {
				t.Fatalf("break: exit code %d\n%s", code, out)
			}
			stderr, code := e.p.rest()
			if code != exitBlocked || !strings.Contains(stderr, "LOST THE LEASE") || strings.Count(stderr, "a hotfix has to go out") != 2 ||
				strings.Contains(stderr, "stopped") != (name == "gentle") {
				t.Errorf("exit code %d:\n%s", code, stderr)
			}
		})
	}
}

// Where the target cannot be handed back, it is said how to do it later, and the exit
// code says so unless the command has one of its own.
func TestExecCannotHandBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		signal os.Signal
		code   int
	}{
		"a code of its own":    {waits, syscall.SIGTERM, 7},
		"done when it is told": {strings.NewReplacer("TERM", "INT", "exit 7", "exit 0").Replace(waits), os.Interrupt, exitUnreachable},
		"ended by a signal":    {`echo ready >&2; exec tail -f /dev/null`, os.Interrupt, exitUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := devtest.Cluster(t)
			proxy, env := behind(t, c)
			e := &execTest{t: t, dir: waitingRepository(t, devtest.Namespace(t, c)), env: kubeconfigOf(t, c.Config())}
			e.run(env, tc.script)
			proxy.Add(faultproxy.Rule{Path: leases, Do: faultproxy.Answer(http.StatusServiceUnavailable)})
			stderr, code := e.p.end(tc.signal)
			if code != tc.code || !strings.Contains(stderr, "Hand the target back with: kubectl pharos lease release.") || strings.Contains(stderr, "interrupted") {
				t.Errorf("exit code %d, want %d:\n%s", code, tc.code, stderr)
			}
			if out, code := runs(t, e.dir, e.env, "lease", "release"); code != exitDone {
				t.Errorf("release: exit code %d\n%s", code, out)
			}
		})
	}
}
