package gocommand_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/gocommand"
)

func newCommand(t *testing.T, env ...string) (c *gocommand.Command, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(dir+"/go.mod", []byte("module example.com/m\n\ngo 1.26\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := gocommand.New(t.Context(), append(os.Environ(), env...), dir)
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func TestRunSeesTheCallersSettingsOnly(t *testing.T) {
	t.Parallel()
	c, dir := newCommand(t, "GOFLAGS=-tags=user", "GOARCH=arm64", "GOWORK=/nowhere/go.work", "GOPROXY=https://proxy.example", "GOENV=/nowhere")
	if c.Version() != runtime.Version() {
		t.Errorf("the version is %s, want %s", c.Version(), runtime.Version())
	}
	out, err := c.Run(t.Context(), dir, map[string]string{"GOOS": "freebsd", "GOARCH": "amd64"}, "env", "GOFLAGS", "GOOS", "GOARCH", "GOWORK", "GOPROXY", "CGO_ENABLED")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "\nfreebsd\namd64\noff\nhttps://proxy.example\n0\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What the user set with "go env -w" counts where it says where things are found,
// in the file that GOENV names, and nowhere else.
func TestUsersConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "goenv")
	if err := os.WriteFile(file, []byte("GOPRIVATE=example.org\nGOEXPERIMENT=arenas\nGOFLAGS=-tags=user\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, dir := newCommand(t, "GOENV="+file, "GOPRIVATE=")
	out, err := c.Run(t.Context(), dir, nil, "env", "GOPRIVATE", "GOEXPERIMENT", "GOFLAGS")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "example.org\n\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	c, dir := newCommand(t)
	_, err := c.Run(t.Context(), dir, nil, "list", "./gone")
	failed, ok := errors.AsType[*gocommand.Error](err)
	if !ok || !strings.Contains(failed.Output, "gone") || !strings.HasPrefix(err.Error(), "go list: ") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	if _, err := c.Run(ctx, dir, nil, "env"); !errors.Is(err, over) {
		t.Errorf("when it is over: %v", err)
	}
}

func TestNewWithoutGo(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", t.TempDir(), ".", "relative"} {
		if _, err := gocommand.New(t.Context(), []string{"PATH=" + path}, t.TempDir()); !errors.Is(err, gocommand.ErrNotFound) {
			t.Errorf("PATH=%s: %v", path, err)
		}
	}
}

func FuzzNewEnvironment(f *testing.F) {
	f.Add("PATH=/bin")
	f.Add("=C:=C:\\")
	f.Add("nothing")
	f.Add("A=b=c")
	f.Fuzz(func(t *testing.T, kv string) {
		env := gocommand.NewEnvironment([]string{kv, kv})
		for _, got := range env.List() {
			if !strings.EqualFold(got, kv) {
				t.Errorf("%q became %q", kv, got)
			}
		}
	})
}
