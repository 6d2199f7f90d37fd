//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/controlplane"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// program is a program of its own that is a part of the cluster. It can be killed and started again.
type program struct {
	name, path string
	args, env  []string
	// files are inherited behind the standard ones.
	files []*os.File
	// before, if given, has to return before the program is started, and after when it was killed.
	before func(context.Context) error
	after  func() error
	folder *state.Folder

	// kill and start are what run is asked for; it answers when that is done. away says that it was killed: kill and
	// start are called one after the other.
	killing, starting chan chan error
	away              bool
}

// part is what runs it. To be called once.
func (p *program) part() controlplane.Part {
	p.killing, p.starting = make(chan chan error), make(chan chan error)
	return controlplane.Part{Name: p.name, Run: p.run}
}

// run runs the program until it ends by itself.
func (p *program) run(ctx context.Context) error {
	log, err := p.folder.LogFile(p.name + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	var started chan error
	for {
		cmd, err := p.launch(ctx, log)
		if started != nil {
			started <- err
		}
		if err != nil {
			return err
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		select {
		case err := <-exited:
			if err == nil {
				return nil
			}
			return fmt.Errorf("%w; the end of its log:\n%s", err, tail(log.Name()))
		case killed := <-p.killing:
			// It fails only if the program has ended already.
			_ = cmd.Process.Kill()
			<-exited
			var err error
			if p.after != nil {
				err = p.after()
			}
			killed <- err
		}
		select {
		case started = <-p.starting:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// launch starts the program, which is killed when ctx ends.
func (p *program) launch(ctx context.Context, log *os.File) (*exec.Cmd, error) {
	if p.before != nil {
		if err := p.before(ctx); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Env, cmd.ExtraFiles = p.env, p.files
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, cmd.Start()
}

// kill ends the program with SIGKILL and returns when it is gone.
func (p *program) kill(ctx context.Context) error {
	if p.away {
		return errors.New("it was killed already")
	}
	err := ask(ctx, p.killing)
	p.away = err == nil
	return err
}

// start starts the program again.
func (p *program) start(ctx context.Context) error {
	if !p.away {
		return errors.New("it was not killed")
	}
	p.away = false
	return ask(ctx, p.starting)
}

func ask(ctx context.Context, whom chan<- chan error) error {
	done := make(chan error, 1)
	select {
	case whom <- done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tail is the end of a log.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}
