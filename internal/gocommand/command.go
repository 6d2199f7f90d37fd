package gocommand

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/internal/processgroup"
)

// ErrNotFound is matched by the error of New and of Environment.Find if there is
// no go command.
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
	env      Environment
	version  string
	settings map[string]string
}

// New finds the go command on the PATH of an environment, given as "NAME=value",
// and asks it for its version and the user's settings. dir is a folder in which
// it runs and which no go.mod or go.work governs.
func New(ctx context.Context, env []string, dir string) (*Command, error) {
	c := &Command{env: NewEnvironment(env)}
	var err error
	if c.path, err = c.env.Find(); err != nil {
		return nil, err
	}
	var errOut bytes.Buffer
	version, settings, err := Ask(ctx, c.path, dir, c.env, "local", &errOut)
	if err := failed(ctx, []string{"env"}, &errOut, err); err != nil {
		return nil, err
	}
	c.version, _, _ = strings.Cut(version, " ") // "go1.26.8 X:jsonv2"
	c.settings = settings
	return c, nil
}

// Version is that of the installed go command, such as "go1.26.8".
func (c *Command) Version() string { return c.version }

// Run runs the command in a folder and returns what it printed. settings count
// before those that the package fixes. If it fails, the error is an *Error,
// and what it printed until then is returned too; if ctx ends, it matches ctx's.
func (c *Command) Run(ctx context.Context, dir string, settings map[string]string, args ...string) ([]byte, error) {
	env := c.env.User()
	for _, m := range []map[string]string{c.settings, Fixed(), settings} {
		env.SetMap(m)
	}
	cmd := Process(ctx, c.path, dir, env, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := failed(ctx, args, &errOut, processgroup.Run(cmd))
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return out.Bytes(), err
}

// failed is the error of a run that ended with err.
func failed(ctx context.Context, args []string, errOut *bytes.Buffer, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &Error{Args: args, Output: strings.TrimSpace(errOut.String()), Err: err}
	}
	return nil
}
