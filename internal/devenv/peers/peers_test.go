package peers_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/peers"
)

// module writes a module with one program, which prints what is linked into it, and gives the test a cache of its own.
func module(t *testing.T) peers.Program {
	t.Helper()
	// Go's build cache is below the cache folder too, unless it is named.
	goCache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("LocalAppData", filepath.Join(home, "cache"))
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.org/tool\n\ngo 1.21\n")
	write(t, dir, "go.sum", "")
	write(t, dir, "main.go", "package main\n\nvar word = \"none\"\n\nfunc main() { print(word) }\n")
	return peers.Program{Name: "tool", ModuleDir: dir, Package: "."}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func binary(t *testing.T, p peers.Program, progress io.Writer) string {
	t.Helper()
	path, err := peers.Binary(t.Context(), p, progress)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func output(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestBuildsOncePerVersion(t *testing.T) {
	p := module(t)
	var progress bytes.Buffer
	first := binary(t, p, &progress)
	if got := output(t, first); got != "none" {
		t.Errorf("the program prints %q", got)
	}
	if !strings.Contains(progress.String(), "building tool") || !strings.Contains(progress.String(), "built tool in") {
		t.Errorf("progress: %q", progress.String())
	}
	progress.Reset()
	if again := binary(t, p, &progress); again != first || progress.Len() != 0 {
		t.Errorf("the second call gives %s after %s, and says %q", again, first, progress.String())
	}

	changes := []struct {
		what  string
		other bool
		make  func(p *peers.Program)
	}{
		{"a test", false, func(*peers.Program) { write(t, p.ModuleDir, "main_test.go", "package main\n") }},
		{"a nested module", false, func(*peers.Program) {
			write(t, p.ModuleDir, "nested/go.mod", "module example.org/nested\n")
			write(t, p.ModuleDir, "nested/x.go", "package nested\n")
		}},
		{"the source", true, func(*peers.Program) { write(t, p.ModuleDir, "other.go", "package main\n") }},
		{"an embedded file", true, func(*peers.Program) { write(t, p.ModuleDir, "data/x.yaml", "x: 1\n") }},
		{"go.sum", true, func(*peers.Program) { write(t, p.ModuleDir, "go.sum", "\n") }},
		{"linker flags", true, func(p *peers.Program) { p.LDFlags = []string{"-X=main.word=hello"} }},
		{"tags", true, func(p *peers.Program) { p.Tags = []string{"a", "b"} }},
		{"the environment", true, func(p *peers.Program) { p.Env = []string{"CGO_ENABLED=0"} }},
	}
	last := first
	for _, c := range changes {
		c.make(&p)
		got := binary(t, p, nil)
		if (got != last) != c.other {
			t.Errorf("after a change of %s: another binary: %t, want %t", c.what, got != last, c.other)
		}
		last = got
	}
	if got := output(t, last); got != "hello" {
		t.Errorf("the program prints %q, want what the linker set", got)
	}
}

func TestManyWantTheSameProgram(t *testing.T) {
	p := module(t)
	var mu sync.Mutex
	var progress strings.Builder
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			path, err := peers.Binary(t.Context(), p, writerFunc(func(b []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return progress.Write(b)
			}))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(progress.String(), "building tool"); n != 1 {
		t.Errorf("it was built %d times, want once:\n%s", n, progress.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestFailureShowsTheCompilersWords(t *testing.T) {
	p := module(t)
	write(t, p.ModuleDir, "broken.go", "package main\n\nfunc f() { undefinedName() }\n")
	_, err := peers.Binary(t.Context(), p, nil)
	failed := (*peers.BuildError)(nil)
	if !errors.As(err, &failed) || !strings.Contains(failed.Output, "undefinedName") || !strings.Contains(err.Error(), "broken.go:3") {
		t.Fatalf("got %v", err)
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		t.Errorf("the go command's end is not in %v", err)
	}
	// A later attempt is not hindered by it.
	write(t, p.ModuleDir, "broken.go", "package main\n")
	binary(t, p, nil)
}

func TestEndedContext(t *testing.T) {
	p := module(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := peers.Binary(ctx, p, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestUnusedVersionsGo(t *testing.T) {
	p := module(t)
	old := binary(t, p, nil)
	write(t, p.ModuleDir, "two.go", "package main\n")
	recent := binary(t, p, nil)
	long := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	write(t, p.ModuleDir, "three.go", "package main\n")
	binary(t, p, nil)
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a version that nobody used for a month is still there: %v", err)
	}
	if _, err := os.Stat(recent); err != nil {
		t.Errorf("a version that was just used is gone: %v", err)
	}
}
