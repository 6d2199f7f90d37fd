package golang_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
)

// TestFaultsOfTheMachine wants faults of the machine not to be taken for faults
// of the commit, and to name what is short.
func TestFaultsOfTheMachine(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(closed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		// build replaces what the go command does for "go build".
		build string
		env   []string
		names string // what the error names; TEMP is the builder's own folder
	}{
		// Where nobody may mount, the words of a go command that met it.
		"full TMPDIR": {build: `if unshare -rm true 2>/dev/null; then
	exec unshare -rm sh -c 'mount -t tmpfs -o size=64k none "$GOTMPDIR" && exec go "$@"' sh "$@"
fi
echo 'compile: writing output: write $WORK/b003/_pkg_.a: no space left on device' >&2
exit 1`, names: "TEMP"},
		"GOCACHE that is a file":   {build: `exec go "$@"`, env: []string{"GOCACHE=" + closed}, names: closed},
		"GOCACHE that is off":      {build: `exec go "$@"`, env: []string{"GOCACHE=off"}, names: "Name a folder for Go's build cache with GOCACHE"},
		"GOCACHE that is relative": {build: `exec go "$@"`, env: []string{"GOCACHE=rel"}, names: "Name a folder for Go's build cache with GOCACHE"},
		"too few open files":       {build: `ulimit -n 12; exec go "$@"`, env: []string{"GOCACHE=" + t.TempDir()}, names: "ulimit -n"},
		"compiler that is killed": {build: `shift; exec go build -toolexec "sh -c 'case \$0 in *compile) kill -9 \$\$;; esac; exec \$0 \"\$@\"'" "$@"`,
			env: []string{"GOCACHE=" + t.TempDir()}, names: "memory"},
		"go command that is killed": {build: `kill -9 $$`, names: "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			script := filepath.Join(t.TempDir(), "go")
			text := "#!/bin/sh\n[ \"$1\" = build ] || exec go \"$@\"\n" + tc.build + "\n"
			exectest.Write(t, script, []byte(text))
			reg, err := newRegistry()
			if err != nil {
				t.Fatal(err)
			}
			b, err := golang.New(golang.Config{Registry: reg, Env: environ(tc.env...), TempDir: f.temp, Go: script})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Build(t.Context(), f.request(greeting))
			e, ok := errors.AsType[*lifecycle.Error](err)
			if !ok || errors.Is(err, lifecycle.ErrSource) || errors.Is(err, lifecycle.ErrUnreachable) {
				t.Fatalf("%v, want a *lifecycle.Error of no class", err)
			}
			if want := strings.ReplaceAll(tc.names, "TEMP", f.temp); !strings.Contains(e.Advice, want) {
				t.Errorf("%v\nwant it to name %s", err, want)
			}
			f.empty()
		})
	}
}

// TestWordsOfTheMachineInSource is a fault of the source whatever it quotes.
func TestWordsOfTheMachineInSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(f.request(with(greeting, map[string]string{
		"lib/words/full.go": "package words\n\nvar _ int = \"no space left on device: signal: killed\"\n",
	})))
}

// TestWordsOfTheMachineAsAFile is one too, whatever file it says that it is in.
func TestWordsOfTheMachineAsAFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(f.request(with(greeting, map[string]string{
		"lib/words/full.go": "package words\n\n//line no space left on device:1\nvar _ = missing\n",
	})))
}

func TestTempDirThatIsClosed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	closed, gone := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "gone")
	if err := os.WriteFile(closed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, advice := range map[string]string{closed: "", gone: gone + " is not there"} {
		b, err := newBuilder(dir, environ())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Build(t.Context(), f.request(greeting)); err == nil || errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), advice) {
			t.Errorf("%v, want an error that is none of the source and names %s", err, dir)
		}
	}
}
