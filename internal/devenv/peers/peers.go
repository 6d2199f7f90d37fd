package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// unusedAfter is how long a built program may stay unused before a newer version of it takes its place on disk.
const unusedAfter = 7 * 24 * time.Hour

// Program names a Go program and the module that says which version of it is built.
type Program struct {
	// Name is the executable's file name without a platform's suffix, such as "kubectl".
	Name string
	// ModuleDir is the folder of the go.mod that resolves Package. It is resolved without any go.work.
	ModuleDir string
	// Package is what is built: a path below the module that starts with "./", or the import path of a package
	// of a module that ModuleDir requires.
	Package string
	// LDFlags are passed to the linker after "-s -w", one element each, such as "-X=main.version=v1".
	LDFlags []string
	// Tags are build tags.
	Tags []string
	// Env is added to the environment of the go command, such as "CGO_ENABLED=0".
	Env []string
}

// BuildError says that a program could not be built.
type BuildError struct {
	// Program is the program's name and Package what was to be compiled.
	Program, Package string
	// Output is what the go command printed.
	Output string
	// Err is how the go command ended.
	Err error
}

// Error implements error. It ends with the go command's own output.
func (e *BuildError) Error() string {
	return fmt.Sprintf("build %s from %s: %v\n%s", e.Program, e.Package, e.Err, strings.TrimSpace(e.Output))
}

// Unwrap returns how the go command ended.
func (e *BuildError) Unwrap() error { return e.Err }

// Binary returns the path of the program's executable, which it builds first where this version is not there yet.
// What it does, and that a build may take minutes, goes to progress as lines of text; nil discards them.
//
// It returns a *[BuildError] when the go command fails, and ctx's error when ctx ends first. It may be called by
// several goroutines and processes at once.
func Binary(ctx context.Context, p Program, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	key, err := p.key(ctx)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", p.Name, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("build %s: no cache folder for its result: %w", p.Name, err)
	}
	dir := filepath.Join(cache, "pharos", "peers", p.Name)
	binary := filepath.Join(dir, key, p.Name)
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if built(binary) {
		return binary, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", p.Name, err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"), func() {
		fmt.Fprintf(progress, "waiting for another process that builds %s\n", p.Name)
	})
	if err != nil {
		return "", fmt.Errorf("build %s: %w", p.Name, err)
	}
	defer unlock()
	if built(binary) {
		return binary, nil
	}
	if err := p.build(ctx, binary, progress); err != nil {
		return "", err
	}
	return binary, trim(dir, key)
}

// built reports whether the binary is there, and marks it as used.
func built(binary string) bool {
	now := time.Now()
	return os.Chtimes(binary, now, now) == nil
}

func (p Program) build(ctx context.Context, binary string, progress io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(binary), ".build-")
	if err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	defer os.RemoveAll(temp)
	out := filepath.Join(temp, filepath.Base(binary))

	fmt.Fprintf(progress, "building %s (%s); the first time this may take minutes\n", p.Name, p.Package)
	start := time.Now()
	stop := tick(progress, p.Name, start)
	printed, err := p.goCommand(ctx, append(p.buildArgs(), "-o", out, p.Package)...)
	stop()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &BuildError{Program: p.Name, Package: p.Package, Output: printed, Err: err}
	}
	if err := os.Rename(out, binary); err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	fmt.Fprintf(progress, "built %s in %s\n", p.Name, time.Since(start).Round(time.Second))
	return nil
}

func (p Program) buildArgs() []string {
	args := []string{"build", "-buildvcs=false", "-ldflags=" + strings.Join(append([]string{"-s", "-w"}, p.LDFlags...), " ")}
	if len(p.Tags) > 0 {
		args = append(args, "-tags="+strings.Join(p.Tags, ","))
	}
	return args
}

// goCommand runs the go command in the module's folder and returns what it printed.
func (p Program) goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.ModuleDir
	// A go.work of the caller would change the versions; -race or -cover in its GOFLAGS the cost.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	cmd.Env = append(cmd.Env, p.Env...)
	// A killed go command may leave a compiler that holds its output open.
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// tick writes a line every half minute until the returned function is called, so that a long build is seen to live.
func tick(w io.Writer, name string, start time.Time) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(30 * time.Second)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				fmt.Fprintf(w, "still building %s (%s)\n", name, time.Since(start).Round(time.Second))
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// lock takes the lock file, calling waiting once if it is held. It returns early when ctx ends; the goroutine that still
// waits then gives the lock back as soon as it gets it.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	type result struct {
		unlock func()
		err    error
	}
	got := make(chan result, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(path).Lock()
		got <- result{unlock, err}
	}()
	soon := time.NewTimer(200 * time.Millisecond)
	defer soon.Stop()
	for {
		select {
		case r := <-got:
			return r.unlock, r.err
		case <-soon.C:
			waiting()
		case <-ctx.Done():
			go func() {
				if r := <-got; r.err == nil {
					r.unlock()
				}
			}()
			return nil, ctx.Err()
		}
	}
}

// trim removes versions of the program that nobody used for a while.
func trim(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || e.Name() == keep {
			continue
		}
		version := filepath.Join(dir, e.Name())
		if lastUse(version).Before(time.Now().Add(-unusedAfter)) {
			errs = append(errs, os.RemoveAll(version))
		}
	}
	return errors.Join(errs...)
}

func lastUse(version string) time.Time {
	var last time.Time
	entries, _ := os.ReadDir(version)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}
