package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

type takeoverRestartOptions struct {
	*shared
	output *output
	names  []string
}

func newTakeoverRestart(s *shared) *cobra.Command {
	o := &takeoverRestartOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "restart [WORKLOAD…]",
		Short: "Start the processes of the takeover anew",
		Long: `Build and start the processes of the takeover anew, also those that are parked since
they crashed again and again. Without an argument all of them. It ends when the new ones
are ready; where one cannot be built, what ran before goes on.

Exit codes: 0 started anew; 1 there is no takeover, or its process is gone; 2 wrong usage,
or no such workload; 3 it cannot be built, or does not stay up.`,
		Example: `  kubectl pharos takeover restart shop/api

  # For a program: which were started anew, of which session
  kubectl pharos takeover restart -o json`,
		Args: cobra.ArbitraryArgs, ValidArgsFunction: s.completeTaken,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return o.run(cmd.Context())
		},
	}
	o.output = newOutput(cmd)
	return cmd
}

func (o *takeoverRestartOptions) run(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	client, err := o.guardian(ctx)
	if err != nil {
		return err
	}
	st, err := client.Status(ctx)
	if err != nil {
		return err
	}
	restarted, err := o.restart(ctx, client, st)
	if o.output.human() {
		if err == nil {
			linef(o.Out, "%s: started anew", strings.Join(restarted, ", "))
		}
		return err
	}
	obj, oerr := newObject("TakeoverRestart", st.Target, struct {
		Session   string   `json:"session,omitempty"`
		Workloads []string `json:"workloads"`
		failure
	}{st.Session, restarted, failureOf(ctx, err)})
	if oerr == nil {
		oerr = o.output.print(o.Out, obj)
	}
	return errors.Join(err, oerr)
}

// restart starts processes anew, and returns the workloads whose processes were meant.
func (o *takeoverRestartOptions) restart(ctx context.Context, client *guardian.Client, st guardian.Status) (workloads []string, err error) {
	workloads = []string{}
	found, err := st.Find(o.names...)
	if err != nil {
		return workloads, usage(err)
	}
	for _, w := range found {
		workloads = append(workloads, w.Workload)
	}
	if len(found) == 0 {
		return workloads, notSo("the takeover has no workload yet, or none any more")
	}
	return workloads, client.Restart(ctx, o.names...)
}
