package golang_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
)

// TestColdCacheIsFilledOnce has several builds begin together on an empty build
// cache, and counts how often each package of the standard library is compiled.
// On a full one they do not wait for each other.
func TestColdCacheIsFilledOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	folder := t.TempDir()
	compiled, tool, command := filepath.Join(folder, "compiled"), filepath.Join(folder, "tool"), filepath.Join(folder, "go")
	together, fifo := filepath.Join(folder, "together"), filepath.Join(folder, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		// The first build on the full cache ends only after the second one.
		together: "#!/bin/sh\n[ \"$1\" != build ] && exec '" + command + "' \"$@\"\nif mkdir '" + folder + "/first' 2>/dev/null; then read x <'" + fifo + "'; exec '" + command + "' \"$@\"; fi\n" +
			"'" + command + "' \"$@\"; code=$?; echo >'" + fifo + "'; exit $code\n",
		tool:    "#!/bin/sh\ncase \"$*\" in *-V=full) ;; */compile*) echo \"$TOOLEXEC_IMPORTPATH\" >>'" + compiled + "';; esac\nexec \"$@\"\n",
		command: "#!/bin/sh\ncase \"$1\" in build|list) verb=$1; shift; exec go \"$verb\" -toolexec '" + tool + "' \"$@\";; esac\nexec go \"$@\"\n",
	} {
		exectest.Write(t, name, []byte(script))
	}
	reg, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	build := func(goCommand string, names ...string) {
		t.Helper()
		b, err := golang.New(golang.Config{Registry: reg, Env: environ("GOCACHE=" + filepath.Join(folder, "cache")), TempDir: f.temp, Go: goCommand})
		if err != nil {
			t.Fatal(err)
		}
		var builds sync.WaitGroup
		for _, name := range names {
			r := f.request(with(greeting, map[string]string{"cmd/hello/name.txt": name}))
			builds.Go(func() {
				if _, err := b.Build(t.Context(), r); err != nil {
					t.Error(err)
				}
			})
		}
		builds.Wait()
	}
	build(command, "ann", "bob", "cyd")
	// So that the cache has what is asked for to see whether it is cold.
	warm := f.request(with(greeting, map[string]string{"cmd/hello/main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println() }\n"}))
	b, err := golang.New(golang.Config{Registry: reg, Env: environ("GOCACHE=" + filepath.Join(folder, "cache")), TempDir: f.temp, Go: command})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(t.Context(), warm); err != nil {
		t.Fatal(err)
	}
	build(together, "dan", "eve")
	data, err := os.ReadFile(compiled)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, pkg := range strings.Fields(string(data)) {
		times[pkg]++
	}
	if times["runtime"] != 1 {
		t.Errorf("runtime was compiled %d times", times["runtime"])
	}
	for pkg, n := range times {
		if n > 1 && !strings.HasPrefix(pkg, "example.com/") {
			t.Errorf("%s was compiled %d times", pkg, n)
		}
	}
}
