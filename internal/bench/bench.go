package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/peers"
)

// bench is what the cases share.
type bench struct {
	rounds   int
	progress io.Writer
	dir      string // temporary
	root     string // of Pharos' own module
	self     string // this program, for whole processes of the library
	built    string // the plugin, if it was built already

	size       repoSize // of the repositories that are made
	repository string   // instead of those; may be empty

	closers []func() error
}

func newBench(ctx context.Context, rounds int, progress io.Writer) (*bench, error) {
	b := &bench{rounds: rounds, progress: progress}
	var err error
	if b.root, err = devenv.ModuleRoot(ctx); err != nil {
		return nil, err
	}
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "pharos-bench-"); err != nil {
		return nil, err
	}
	b.closers = append(b.closers, func() error { return os.RemoveAll(b.dir) })
	return b, nil
}

func (b *bench) close() error {
	var errs []error
	for i := len(b.closers) - 1; i >= 0; i-- {
		errs = append(errs, b.closers[i]())
	}
	return errors.Join(errs...)
}

// folder makes a new folder below the temporary one.
func (b *bench) folder(name string) (string, error) { return os.MkdirTemp(b.dir, name+"-") }

// registry starts a registry in this process and returns its host:port.
func (b *bench) registry() string {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	b.closers = append(b.closers, func() error { server.Close(); return nil })
	return strings.TrimPrefix(server.URL, "http://")
}

// peer builds a tool of the module peers.
func (b *bench) peer(ctx context.Context, name, pkg string) (string, error) {
	return peers.Binary(ctx, peers.Program{
		Name: name, ModuleDir: filepath.Join(b.root, "internal", "bench", "peers"), Package: pkg, Env: []string{"CGO_ENABLED=0"},
	}, b.progress)
}

// plugin builds kubectl-pharos once, as it is released.
func (b *bench) plugin(ctx context.Context) (string, error) {
	if b.built != "" {
		return b.built, nil
	}
	path := filepath.Join(b.dir, "kubectl-pharos")
	fmt.Fprintln(b.progress, "building kubectl-pharos")
	if _, err := (command{path: "go", args: []string{"build", "-trimpath", "-ldflags=-s -w", "-o", path, "./kubectl-pharos"}, dir: b.root, env: []string{"CGO_ENABLED=0"}}).output(ctx); err != nil {
		return "", err
	}
	b.built = path
	return path, forget(path)
}

// command is a program to run as a whole process.
type command struct {
	path string
	args []string
	dir  string
	env  []string // added to this process's own
}

// output runs the command and returns what it wrote to stdout. Its error ends
// with what it wrote to stderr.
func (c command) output(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(c.path), strings.Join(c.args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// run runs the command. One that writes nothing has not done its work.
func (c command) run(ctx context.Context) error {
	out, err := c.output(ctx)
	if err == nil && strings.TrimSpace(out) == "" {
		err = fmt.Errorf("%s %s wrote nothing", filepath.Base(c.path), strings.Join(c.args, " "))
	}
	return err
}
