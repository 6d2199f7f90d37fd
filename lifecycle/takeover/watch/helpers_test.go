package watch_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/takeover/watch"
)

// model is what the files that count should hold, by path: what the test wrote, and
// nothing that was read.
type model map[string]entry

type entry struct{ kind, content string }

// state is the State that the package's comment promises: the same for the same
// content.
func (m model) state() watch.State {
	var sum [sha256.Size]byte
	for name, e := range m {
		one := sha256.Sum256(fmt.Appendf(nil, "%s %q\n%s", e.kind, name, e.content))
		for i := range sum {
			sum[i] ^= one[i]
		}
	}
	return watch.State(hex.EncodeToString(sum[:]))
}

func patterns(t testing.TB, list ...string) catalogue.Patterns {
	t.Helper()
	p, err := catalogue.ParsePatterns(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// running is a Run that goes on in the background.
type running struct {
	t       testing.TB
	changes chan watch.Change
	last    watch.Change
	ended   chan error
	stop    context.CancelFunc
}

// start starts a Run and returns it after its first Change, which holds what the
// model says.
func start(t testing.TB, c watch.Config, m model) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, changes: make(chan watch.Change), ended: make(chan error, 1), stop: cancel}
	c.Changed = func(change watch.Change) {
		select {
		case r.changes <- change:
		case <-ctx.Done():
		}
	}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	go func() { r.ended <- watch.Run(ctx, c) }()
	t.Cleanup(func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	first := r.next()
	if len(first.Paths) > 0 || first.State != m.state() {
		t.Fatalf("the first change is %+v, want no paths and the state %s", first, m.state())
	}
	return r
}

// next waits for the next Change.
func (r *running) next() watch.Change {
	r.t.Helper()
	select {
	case r.last = <-r.changes:
		return r.last
	case err := <-r.ended:
		r.ended <- nil
		r.t.Fatalf("Run has ended: %v", err)
	}
	panic("unreachable")
}

// until waits until the State is that of the model.
func (r *running) until(m model) {
	r.t.Helper()
	for want := m.state(); r.last.State != want; {
		r.next()
	}
}

func write(t testing.TB, root, name, content string) {
	t.Helper()
	place := filepath.Join(root, name)
	must(t, os.MkdirAll(filepath.Dir(place), 0o755))
	must(t, os.WriteFile(place, []byte(content), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repository makes a folder a Git repository that nothing of the machine configures.
func repository(t testing.TB, root string) (env []string) {
	t.Helper()
	env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	git(t, root, env, "init", "--quiet")
	return env
}

func git(t testing.TB, root string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = root, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}
