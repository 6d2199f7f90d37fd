//go:build unix

package runtime_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// members is how many processes a family has.
const members = 1 + 2 + 4 + 8

// guardian runs a family in a folder until it is killed.
func guardian(ctx context.Context, root string) error {
	inputs, err := catalogue.ParsePatterns([]string{"a"})
	if err != nil {
		return err
	}
	store, err := supervise.NewFile(filepath.Join(root, "store"))
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	local, err := runtime.New(runtime.Config{
		Spec:  runtime.Spec{Name: "web", Root: root, Inputs: inputs, Command: []string{program}, Env: []string{"PHAROS_TEST_ROLE=family", "PORT=0"}},
		Store: store, Environ: os.Environ(), Output: os.Stdout,
	})
	if err != nil {
		return err
	}
	return local.Run(ctx)
}

// gone waits until none of the processes is there any more.
func gone(t *testing.T, pids []int) {
	t.Helper()
	late := time.After(time.Minute)
	for _, pid := range pids {
		for alive(pid) {
			select {
			case <-late:
				t.Fatalf("process %d is there still", pid)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

// alive says whether a process runs, and is not only waiting to be buried.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return filepath.Separator != '/' // there is no /proc
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

func pidOf(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid ")))
	must(t, err)
	return pid
}

// A whole tree of processes that ignore every signal ends with the Runtime.
func TestStopEndsTheWholeFamily(t *testing.T) {
	t.Parallel()
	root, port := t.TempDir(), freePort(t)
	write(t, root, "a", "")
	c := config(t, root, "a")
	self(t, &c, "family", port)
	c.Grace = 50 * time.Millisecond
	r := start(t, c)
	r.until(0, runtime.EventReady)
	var pids []int
	for from := 0; len(pids) < members; {
		line, at, _ := r.output.until(from, func(line string) bool { return strings.HasPrefix(line, "pid ") })
		pids, from = append(pids, pidOf(t, line)), at+1
	}
	must(t, r.stop())
	gone(t, pids)
	if e, _ := r.until(0, runtime.EventStopped); !strings.Contains(e.Reason, "killed") {
		t.Errorf("the event is %+v", e)
	}
	if s := r.State(); s.Phase != runtime.Stopped {
		t.Errorf("the state is %+v", s)
	}
	if err := r.Restart(t.Context()); !errors.Is(err, runtime.ErrNotServing) {
		t.Errorf("a restart after the end: %v", err)
	}
}

// What leaves its process group does not end with it. If it keeps the port it is named,
// at an edit, at the end, and to who runs it the next time.
func TestDaemonThatKeepsThePort(t *testing.T) {
	t.Parallel()
	root, port := t.TempDir(), freePort(t)
	write(t, root, "content", "0")
	c := config(t, root, "content")
	self(t, &c, "daemon", port)
	c.Policy = supervise.Policy{Restarts: 1, Pause: time.Millisecond}
	r := start(t, c)
	r.until(0, runtime.EventReady)
	pid := pidOf(t, r.printed("pid "))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	taken := fmt.Sprintf("port %d of the loopback interface is in use by", port)
	owner := fmt.Sprintf("(process %d)", pid)

	write(t, root, "content", "1")
	e, at := r.until(0, runtime.EventParked)
	if !strings.Contains(e.Reason, taken) || !strings.Contains(e.Reason, owner) || !strings.Contains(e.Reason, "setsid") {
		t.Errorf("it was parked with %q", e.Reason)
	}
	if _, err := r.Dial(t.Context(), 80); err == nil || !strings.Contains(err.Error(), owner) {
		t.Errorf("a connection fails with %v", err)
	}
	must(t, r.stop())
	if e, _ := r.until(at, runtime.EventTrouble); !strings.Contains(e.Reason, owner) {
		t.Errorf("at the end it says %+v", e)
	}
	again, err := runtime.New(c)
	must(t, err)
	if err := again.Run(t.Context()); !errors.Is(err, runtime.ErrPortInUse) || !strings.Contains(err.Error(), owner) {
		t.Errorf("the next one: %v", err)
	}
}

// A family ends with the process that runs it, too, however that ends.
func TestKilledRuntimeLeavesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a", "")
	cmd := killtest.Command(t, root)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < members && lines.Scan(); {
		pids = append(pids, pidOf(t, lines.Text()))
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if len(pids) != members {
		t.Errorf("%d processes were there, want %d", len(pids), members)
	}
	gone(t, pids)
}
