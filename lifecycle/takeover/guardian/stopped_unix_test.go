//go:build unix

package guardian_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

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
