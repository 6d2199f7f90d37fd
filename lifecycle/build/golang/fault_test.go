package golang

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
)

func TestMachineFaults(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"# shop\ncompile: writing output: write $WORK/b003/_pkg_.a: no space left on device\n": "compile: writing output: write $WORK/b003/_pkg_.a: no space left on device",
		"open C:\\Temp\\x\\a.o: Access is denied.\n":                                           "open C:\\Temp\\x\\a.o: Access is denied.",
		"go: could not create module cache: mkdir /srv/mod: permission denied\n":               "go: could not create module cache: mkdir /srv/mod: permission denied",
		"# shop\n/usr/go/pkg/tool/compile: signal: killed\n":                                   "/usr/go/pkg/tool/compile: signal: killed",
		"runtime: out of memory: cannot allocate 4194304-byte block (8 in use)\n":              "runtime: out of memory: cannot allocate 4194304-byte block (8 in use)",
		"fatal error: runtime: out of memory\n":                                                "fatal error: runtime: out of memory",
		"fork/exec /usr/go/compile: resource temporarily unavailable\n":                        "fork/exec /usr/go/compile: resource temporarily unavailable",
		"build cache is disabled by GOCACHE=off, but required as of Go 1.12\n":                 "build cache is disabled by GOCACHE=off, but required as of Go 1.12",
		"go: GOPATH entry is relative; must be absolute path: \"rel\".\nSee more\n":            "go: GOPATH entry is relative; must be absolute path: \"rel\".",
		"m.go:3:8: example.com/dep@v1.0.0: mkdir /srv/mod/example.com: permission denied\n":    "m.go:3:8: example.com/dep@v1.0.0: mkdir /srv/mod/example.com: permission denied",
		"go: example.com/dep@v1.0.0: git init --bare in /srv/vcs: exit status 128:\n\t/srv/vcs/.git: Permission denied\n": "go: example.com/dep@v1.0.0: git init --bare in /srv/vcs: exit status 128: " +
			"/srv/vcs/.git: Permission denied",

		// What a commit says, whatever it says.
		"# shop\nno space left on device:1: undefined: x\n":                                  "",
		"# shop\nx@v1: no space left on device:1:2: undefined: x\n":                          "",
		"# shop\na file with no end:1:2: #error: no space left on device\n":                  "",
		"# shop\n./m.go:3:9: cannot use \"/x: permission denied\" (constant) as int value\n": "",
		// A server that does not let us in.
		"go: example.com/dep@v1.0.0: git ls-remote -q origin in /srv/vcs: exit status 128:\n\tgit@example.com: Permission denied (publickey).\n": "",
		"git@example.com: Permission denied\n": "",
	} {
		if got := machineCause(output); got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
}

func TestMachineAdvice(t *testing.T) {
	t.Parallel()
	b := &build{Builder: &Builder{tempDir: "/temp"}, request: lifecycle.BuildRequest{State: catalogue.State{Image: catalogue.Image{Name: "x"}}}}
	for want, err := range map[string]error{
		"/temp is full":      &fs.PathError{Op: "write", Path: "/temp/x", Err: syscall.ENOSPC},
		"/temp is not there": &fs.PathError{Op: "mkdir", Path: "/temp/x", Err: syscall.ENOENT},
		"ulimit -n":          &fs.PathError{Op: "open", Path: "/temp/x", Err: syscall.EMFILE},
		"ulimit -n ":         os.NewSyscallError("open", syscall.ENFILE),
	} {
		e, ok := errors.AsType[*lifecycle.Error](b.broken(err))
		if !ok || e.Class != nil || !strings.Contains(e.Advice, strings.TrimSpace(want)) {
			t.Errorf("%v: got %v, want the advice %q", err, e, want)
		}
	}
	for _, cause := range []string{
		"build cache is disabled by GOCACHE=off, but required as of Go 1.12",
		"build cache is required, but could not be located: GOCACHE is not an absolute path",
	} {
		if advice := b.machineAdvice(&toolchain{settings: map[string]string{"GOCACHE": "off"}}, cause); !strings.HasPrefix(advice, "Name a folder for Go's build cache") {
			t.Errorf("%s: got the advice %q", cause, advice)
		}
	}
}
