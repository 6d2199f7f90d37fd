package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
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
		Long: `Start the processes of the takeover anew, also those that are parked since they
crashed again and again. Without an argument all of them.`,
		Example: `  kubectl pharos takeover restart shop/api

  # For a program: which were started anew, of which session
  kubectl pharos takeover restart -o json`,
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: s.completeTaken,
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
	if o.output.human() {
		if err := client.Restart(ctx, o.names...); err != nil {
			return err
		}
		linef(o.Out, "%s: started anew", cmp.Or(strings.Join(o.names, ", "), "all"))
		return nil
	}
	st, err := client.Status(ctx)
	if err != nil {
		return err
	}
	err = client.Restart(ctx, o.names...)
	restarted := o.names
	if len(restarted) == 0 {
		for _, w := range st.Workloads {
			restarted = append(restarted, w.Workload)
		}
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
