package gocommand

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"time"
)

// ErrNotFound is matched by the error of New if there is no go command.
var ErrNotFound = errors.New("there is no go command")

// Error is a run of the go command that failed.
type Error struct {
	Args   []string // without the name of the command
	Output string   // what it printed on its standard error, trimmed
	Err    error
}

func (e *Error) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("go %s: %v", e.Args[0], e.Err)
	}
	return fmt.Sprintf("go %s: %s", e.Args[0], e.Output)
}

func (e *Error) Unwrap() error { return e.Err }

// Command is a go command with the user's settings. It is safe for concurrent
// use.
type Command struct {
	path     string
	env      environment
	version  string
	settings map[string]string
}

// userSettings are what a user may have set with "go env -w" and the command
// cannot go without. The rest of that file is not read.
var userSettings = []string{
	"GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOINSECURE", "GOAUTH", "GOVCS",
	"GOPATH", "GOMODCACHE", "GOCACHE", "GOCACHEPROG",
}

// New finds the go command on the PATH of an environment, given as "NAME=value",
// and asks it for its version and the user's settings. dir is a folder in which
// it runs and which no go.mod or go.work governs.
func New(ctx context.Context, env []string, dir string) (*Command, error) {
	c := &Command{env: newEnvironment(env)}
	var err error
	if c.path, err = c.env.lookPath("go"); err != nil {
		return nil, err
	}
	user := c.env.forUser()
	user.set("GOTOOLCHAIN", "local")
	user.set("GOWORK", "off")
	out, err := c.run(ctx, dir, user, append([]string{"env", "-json", "GOVERSION"}, userSettings...))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out, &c.settings); err != nil {
		return nil, fmt.Errorf("read the answer of go env: %w", err)
	}
	c.version, _, _ = strings.Cut(c.settings["GOVERSION"], " ") // "go1.26.8 X:jsonv2"
	delete(c.settings, "GOVERSION")
	maps.DeleteFunc(c.settings, func(_, value string) bool { return value == "" })
	return c, nil
}

// TempDir is where an environment, given as "NAME=value", has temporary files.
func TempDir(env []string) string { return newEnvironment(env).tempDir() }

// Version is that of the installed go command, such as "go1.26.8".
func (c *Command) Version() string { return c.version }

// Run runs the command in a folder and returns what it printed. settings count
// before those that the package fixes. If it fails, the error is an *Error,
// and what it printed until then is returned too; if ctx ends, it matches ctx's.
func (c *Command) Run(ctx context.Context, dir string, settings map[string]string, args ...string) ([]byte, error) {
	env := c.env.forUser()
	for _, m := range []map[string]string{c.settings, fixed(), settings} {
		for name, value := range m {
			env.set(name, value)
		}
	}
	return c.run(ctx, dir, env, args)
}

func (c *Command) run(ctx context.Context, dir string, env environment, args []string) ([]byte, error) {
	env.set("PWD", dir)
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir, cmd.Env = dir, env.list()
	cmd.WaitDelay = 5 * time.Second // for the last of its output, which a child may hold open
	ownGroup(cmd)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return out.Bytes(), &Error{Args: args, Output: strings.TrimSpace(errOut.String()), Err: err}
	}
	return out.Bytes(), nil
}
