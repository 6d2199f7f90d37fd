package guardian

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// StartConfig says how a guardian is started.
type StartConfig struct {
	// Folder is that of Config. Required.
	Folder string
	// Program is run with Args: it calls Listen and Serve. Env is its environment, as
	// of os.Environ, and Dir its folder. Program is required; the defaults of the
	// others are those of os/exec.
	Program string
	Args    []string
	Env     []string
	Dir     string
}

// LogName is the file in the folder that has what a guardian itself has to say: of this
// start, and not what the processes of the session print.
const LogName = "guardian.log"

// Start starts a guardian that goes on when this process, its terminal and its process
// group are gone, and returns when it answers. If it ends before, the error has the end
// of its log.
func Start(ctx context.Context, c StartConfig) (*Client, error) {
	if err := private(c.Folder); err != nil {
		return nil, err
	}
	log := filepath.Join(c.Folder, LogName)
	file, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.Command(c.Program, c.Args...) // not of ctx: it goes on when that ends
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.Env, c.Dir, file, file
	if err := detach(cmd); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	defer func() { _ = cmd.Process.Release() }()
	for {
		if c, err := Connect(ctx, c.Folder); err == nil && c.PID() == cmd.Process.Pid {
			return c, nil
		}
		if how, ended := exited(cmd.Process.Pid); ended {
			said, _ := os.ReadFile(log)
			return nil, fmt.Errorf("the guardian ended before it answered: %s\n%s", how, bytes.TrimSpace(tail(said)))
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the guardian, process %d: %w", cmd.Process.Pid, context.Cause(ctx))
		}
	}
}

// tail is the end of what was said.
func tail(said []byte) []byte {
	const most = 4 << 10
	if len(said) > most {
		return said[len(said)-most:]
	}
	return said
}
