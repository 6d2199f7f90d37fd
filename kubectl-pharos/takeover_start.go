package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// takeoverConfig is that of a session of the checkout.
func (s *shared) takeoverConfig(repo *source.Repository, t standard.Target, so standard.Options, flags *takeoverFlags, output func(string) io.Writer) (takeover.Config, error) {
	c, err := workstation.Takeover(workstation.TakeoverConfig{
		Target: t, Options: so, Repository: repo, AutoHandBack: flags.auto, Memory: memoryFolders(), Output: output,
		Tree: func(tree source.Tree) source.Tree { return s.cached(repo, tree) },
	})
	c.Silence, c.Timeout = flags.silence, flags.timeout
	return c, err
}

// memoryFolders are those in memory, as far as this machine has any.
func memoryFolders() []string {
	return []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", os.TempDir()}
}

// flagsVariable carries the flags to the process of a session: not its arguments, since
// everybody on the machine may read these, and a token can be among the flags.
const flagsVariable = "KUBECTL_PHAROS_TAKEOVER_FLAGS"

// toAnswer is how long the process of a session may take to begin.
const toAnswer = 30 * time.Second

// start starts the process of a session.
func (o *takeoverOptions) start(cmd *cobra.Command, folder string) (*guardian.Client, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	flags, err := json.Marshal(given(cmd))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), toAnswer, fmt.Errorf("it did not answer within %s", toAnswer))
	defer cancel()
	return guardian.Start(ctx, guardian.StartConfig{
		Folder: folder, Program: program, Args: append([]string{"takeover", "guardian", "--"}, o.names...),
		Env: append(os.Environ(), flagsVariable+"="+string(flags)),
	})
}

// given are the flags that the process of a session is to have, too, as arguments.
func given(cmd *cobra.Command) (args []string) {
	own := map[string]bool{"output": true, "dry-run": true, "detach": true, "events": true}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if own[f.Name] {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				args = append(args, "--"+f.Name+"="+v)
			}
			return
		}
		args = append(args, "--"+f.Name+"="+f.Value.String())
	})
	return args
}

// try says what would be taken over.
func (o *takeoverOptions) try(ctx context.Context, repo *source.Repository, t standard.Target, so standard.Options) error {
	if left := leftHere(ctx, workstation.Folder(repo), o.onTarget); left != nil {
		return &lifecycle.BlockedError{Reason: left.String()} // nothing else would be taken over
	}
	c, err := o.takeoverConfig(repo, t, so, o.takeoverFlags, nil)
	if err != nil {
		return err
	}
	s, err := takeover.New(c)
	if err != nil {
		return err
	}
	p, err := s.Try(ctx, o.names...)
	if err != nil {
		return err
	}
	if err := p.Err(); err != nil {
		return errors.Join(unchanged(err), o.printPlan(ctx, p, err))
	}
	return o.printPlan(ctx, p, nil)
}

// unchanged is an answer, and no failure.
func unchanged(err error) error {
	if errors.Is(err, takeover.ErrUnchanged) {
		return notSo("%v\nName what is to be taken over all the same: kubectl pharos takeover NAME", err)
	}
	return err
}

// printPlan prints what would be taken over.
func (o *takeoverOptions) printPlan(ctx context.Context, p takeover.Plan, err error) error {
	if !o.output.human() {
		obj, oerr := newObject("TakeoverPlan", p.Target, struct {
			takeover.Plan
			failure
		}{p, failureOf(ctx, unchanged(err))})
		return errors.Join(oerr, o.output.print(o.Out, obj))
	}
	if err != nil {
		return nil // it says all
	}
	for _, line := range planLines(p) {
		linef(o.Out, "%s", line)
	}
	for _, w := range p.Warnings {
		linef(o.ErrOut, "warning: %s: %s", w.Subject, w.Message)
	}
	return nil
}
