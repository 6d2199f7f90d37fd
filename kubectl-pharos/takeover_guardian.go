package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

type takeoverGuardianOptions struct {
	*shared
	*takeoverFlags
}

// newTakeoverGuardian is the process of a session, which kubectl pharos takeover starts.
func newTakeoverGuardian(s *shared) *cobra.Command {
	o := &takeoverGuardianOptions{shared: s, takeoverFlags: &takeoverFlags{}}
	cmd := &cobra.Command{
		Use:    "guardian [WORKLOAD…]",
		Short:  "Be the process of a takeover",
		Long:   "Be the process of a takeover. kubectl pharos takeover starts it.",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE:   func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.add(cmd)
	return cmd
}

func (o *takeoverGuardianOptions) run(cmd *cobra.Command, names []string) error {
	if err := o.readFlags(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	server, err := guardian.Listen(guardian.Config{
		Folder: workstation.Folder(repo), Names: names,
		New: func(events takeover.Sink, output func(string) io.Writer) (*takeover.Session, error) {
			c, err := o.takeoverConfig(repo, t, so, o.takeoverFlags, output)
			if err != nil {
				return nil, err
			}
			c.Events = events
			return takeover.New(c)
		},
	})
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

// readFlags takes the flags from the environment, and out of it: what this process
// starts does not need them.
func (o *takeoverGuardianOptions) readFlags(cmd *cobra.Command) error {
	text, ok := os.LookupEnv(flagsVariable)
	if !ok {
		return nil
	}
	if err := os.Unsetenv(flagsVariable); err != nil {
		return err
	}
	var args []string
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return fmt.Errorf("read the flags in %s: %w", flagsVariable, err)
	}
	return cmd.ParseFlags(args)
}
