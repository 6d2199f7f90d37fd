package supervise_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

func TestFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "budget")
	f, err := supervise.NewFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state.json")
	_, version, err := f.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// What a writer left that was killed goes with the next write.
	if err := os.WriteFile(filepath.Join(dir, ".tmp-123"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := supervise.State{Revision: "1", Failures: 1}
	if err := f.Save(t.Context(), one, version); err != nil {
		t.Fatal(err)
	}
	for name, most := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != most {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := f.Save(t.Context(), supervise.State{Failures: 2}, version); !errors.Is(err, supervise.ErrConflict) || !strings.Contains(err.Error(), path) {
		t.Errorf("an old version: %v", err)
	}
	got, version, err := f.Load(t.Context())
	if err != nil || got != one {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := f.Save(t.Context(), supervise.State{}, version); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "lock" {
		t.Errorf("of the zero state is left %v, %v", entries, err)
	}
	if err := f.Save(t.Context(), supervise.State{}, version); !errors.Is(err, supervise.ErrConflict) {
		t.Errorf("an old version: %v", err)
	}
	if _, err := supervise.NewFile(""); !errors.Is(err, supervise.ErrInvalid) {
		t.Errorf("no folder: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, _, err := f.Load(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("load: %v", err)
	}
	if err := f.Save(ended, one, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("save: %v", err)
	}
}

// What is damaged stays as it is, whatever is called, and nothing is restarted.
func TestDamagedFileLosesNothing(t *testing.T) {
	t.Parallel()
	whole := `{"version":1,"revision":"7","restarts":4,"restartedAt":"2026-03-04T12:00:00Z"}`
	contents := []string{"", "\x00\x00\x00\x00", whole + "x", `{"version":2,"restarts":4}`, strings.Repeat(" ", 1<<17)}
	for i := range len(whole) {
		contents = append(contents, whole[:i])
	}
	for _, content := range contents {
		dir := t.TempDir()
		path := filepath.Join(dir, "state.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := supervise.NewFile(dir)
		if err != nil {
			t.Fatal(err)
		}
		thing := &patient{}
		thing.is(ill)
		s := newSupervisor(t, supervise.Config{Thing: thing, Store: f, Policy: supervise.Policy{Failures: 1, Pause: -1}})
		_, err = s.Step(t.Context())
		for what, err := range map[string]error{"step": err, "unpark": s.Unpark(t.Context())} {
			if !errors.Is(err, supervise.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("%.80q: %s: %v", content, what, err)
			}
		}
		if err := f.Save(t.Context(), supervise.State{Failures: 1}, ""); err == nil {
			t.Errorf("%.80q: it was written over", content)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != content {
			t.Errorf("%.80q became %.80q, %v", content, now, err)
		}
		if thing.restarts.Load() != 0 {
			t.Errorf("%.80q: it was restarted", content)
		}
	}
}

func TestFileIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "state.json")); err != nil {
		t.Fatal(err)
	}
	f, err := supervise.NewFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Load(t.Context()); !errors.Is(err, supervise.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if _, err := supervise.NewFile(filepath.Join(dir, "state.json")); err == nil {
		t.Error("a link is a folder")
	}
}
