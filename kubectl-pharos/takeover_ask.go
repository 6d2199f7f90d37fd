package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// guardian finds the process of the checkout's takeover.
func (s *shared) guardian(ctx context.Context) (*guardian.Client, error) {
	folder, err := s.takeoverFolder()
	if err != nil {
		return nil, err
	}
	client, err := guardian.Connect(ctx, folder)
	if errors.Is(err, guardian.ErrNotRunning) {
		if left := s.leftInCheckout(ctx, folder); left != nil {
			return nil, &goneError{notSo("%v: %s", err, left), left}
		}
		return nil, notSo("%v\nBegin one: kubectl pharos takeover. Who has the target: kubectl pharos lease show", err)
	}
	return client, err
}

// leftInCheckout is the takeover of the checkout whose process is gone, with what its target says
// of it, as far as that can be reached; nil if there is none.
func (s *shared) leftInCheckout(ctx context.Context, folder string) *leftFields {
	doc, err := takeover.Left(folder)
	if err != nil {
		return nil
	}
	if s.target == "" {
		s.target = doc.Target
	}
	_, _, _, _ = s.open(ctx) // without it there is less to say
	return leftHere(ctx, folder, s.onTarget)
}

// interruptedNext is what can be done about a takeover whose process is gone.
const interruptedNext = "Go on with it: kubectl pharos takeover. Or hand it back: kubectl pharos handback"

// takeoverFolder is where the checkout's takeover keeps what it has to know.
func (s *shared) takeoverFolder() (string, error) {
	repo, err := source.Open(s.repo)
	if err != nil {
		return "", err
	}
	return workstation.Folder(repo), nil
}

func newTakeoverStatus(s *shared) *cobra.Command {
	o := &takeoverStatusOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the takeover of this checkout",
		Long: `Show the takeover of this checkout: which workloads, what runs for them, and how long
the target is borrowed. It asks the process of the takeover, and no cluster; where that
process is gone, it asks the target whether somebody else has taken it back, or the lease
has ended. It exits with 1 if there is none, or if its process is gone. What others have
on the target is said by kubectl pharos lease show.`,
		Example: `  kubectl pharos takeover status
  kubectl pharos takeover status -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	return cmd
}

type takeoverStatusOptions struct {
	*shared
	output *output
}

func (o *takeoverStatusOptions) run(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	client, err := o.guardian(ctx)
	if gone, ok := errors.AsType[*goneError](err); ok && !o.output.human() {
		return errors.Join(err, o.interrupted(gone.left))
	}
	if err != nil {
		return err
	}
	st, err := client.Status(ctx)
	if err != nil {
		return err
	}
	return o.print(st)
}

// interrupted shows what the journal says of a session whose process is gone.
func (o *takeoverStatusOptions) interrupted(left *leftFields) error {
	doc, err := o.journal()
	if err != nil {
		return err
	}
	obj, err := newObject("Takeover", doc.Target, struct {
		guardian.Status
		endFields
	}{guardian.Status{Status: takeover.StatusOf(doc)}, left.endFields})
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}

func (o *takeoverStatusOptions) print(st guardian.Status) error {
	if !o.output.human() {
		obj, err := newObject("Takeover", st.Target, st)
		if err != nil {
			return err
		}
		return o.output.print(o.Out, obj)
	}
	linef(o.Out, "target %s since %s, process %d", st.Target, instant(st.Began), st.PID)
	if !st.Until.IsZero() {
		linef(o.Out, "borrowed until %s, and renewed", instant(st.Until))
	} else {
		linef(o.Out, "the target is not borrowed now, and nothing is served")
	}
	var rows [][]any
	for _, w := range st.Workloads {
		phase, pid := "-", "-"
		if p := w.Process; p != nil {
			phase = string(p.Phase)
			if p.PID != 0 {
				pid = fmt.Sprint(p.PID)
			}
		}
		rows = append(rows, []any{visible(w.Workload), visible(w.Container), string(w.State), phase, pid, visible(reasonOf(w)), visible(strings.Join(w.Command, " "))})
	}
	if err := o.output.table(o.Out, []column{{name: "Workload"}, {name: "Container"}, {name: "State"}, {name: "Process"}, {name: "PID"}, {name: "Reason"}, {name: "Command", wide: true}}, rows); err != nil {
		return err
	}
	for _, w := range st.Workloads {
		for _, f := range w.Forwards {
			linef(o.Out, "%s: %s", w.Workload, forwardLine(f))
		}
		if w.State == takeover.StateReplaced {
			linef(o.Out, "%s: %s", w.Workload, takeover.AfterReplaced)
		}
	}
	return nil
}

// stateOf is how a workload is, in one line.
func stateOf(w takeover.WorkloadStatus) string {
	if why := reasonOf(w); why != "" {
		return string(w.State) + ": " + why
	}
	return string(w.State)
}

// reasonOf is why a workload is not served as its working tree says; empty if it is. A place
// in a file helps more than that there is one.
func reasonOf(w takeover.WorkloadStatus) string {
	switch p := w.Process; {
	case w.State == takeover.StateReplaced || p == nil:
		return w.Reason
	case len(p.Problems) > 0:
		return "the build failed: " + problemLine(p.Problems[0])
	case p.Reason != "":
		return p.Reason
	}
	return w.Reason
}

// journal is that of a session of the checkout; journal.ErrNone if there is none.
func (s *shared) journal() (journal.Document, error) {
	folder, err := s.takeoverFolder()
	if err != nil {
		return journal.Document{}, err
	}
	return takeover.Left(folder)
}

func newTakeoverLogs(s *shared) *cobra.Command {
	follow := false
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Print what the processes of the takeover have printed",
		Long: `Print what the processes of the takeover and their builds have printed, as far as it
is still kept, each line behind the image's name. Values of the environment that come
from Secrets are masked.`,
		Example: `  kubectl pharos takeover logs
  kubectl pharos takeover logs --follow`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := s.guardian(cmd.Context())
			if err != nil {
				return err
			}
			return seenEnough(s.logs(cmd.Context(), client, follow))
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "Go on until the takeover ends")
	return cmd
}

// logs prints what was printed so far, and with follow what comes. That there is nothing
// yet is said, too: it looks like a command that does not work.
func (s *shared) logs(ctx context.Context, client *guardian.Client, follow bool) error {
	printed := false
	if follow {
		if err := client.Logs(ctx, false, func(guardian.LogLine) { printed = true }); err != nil {
			return err
		}
		if !printed {
			linef(s.ErrOut, "nothing was printed yet; what comes is shown")
		}
	}
	err := client.Logs(ctx, follow, func(l guardian.LogLine) {
		printed = true
		linef(s.Out, "%s | %s", l.Source, l.Text)
	})
	if err == nil && !follow && !printed {
		linef(s.ErrOut, "nothing was printed yet")
	}
	return err
}

func newTakeoverAttach(s *shared) *cobra.Command {
	return &cobra.Command{
		Use:   "attach",
		Short: "Watch the takeover of this checkout",
		Long: `Watch the takeover of this checkout, as the command does that began it. What happened
before is shown with its time. Ctrl-C once leaves it, Ctrl-C twice hands everything back.`,
		Example: `  kubectl pharos takeover attach`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := s.guardian(cmd.Context())
			if err != nil {
				return err
			}
			return s.end(s.watch(cmd.Context(), client, observer{joined: true}))
		},
	}
}
