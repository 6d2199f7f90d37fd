package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

type handbackOptions struct {
	*shared
	output  *output
	force   bool
	trial   string // as --dry-run says it
	dryRun  bool
	reason  string
	timeout time.Duration
	names   []string
}

func newHandback(s *shared) *cobra.Command {
	o := &handbackOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "handback [WORKLOAD…]",
		Short: "Return what was taken over, exactly as it was",
		Long: `Return what was taken over, exactly as it was.

The workloads get what the agent replaced, and nothing else: what somebody else changed
meanwhile stays, and is named. Once no pod has the agent any more, the lease is
released, and the target is waited for until it is healthy at exactly the commit that
was delivered last. With arguments only these workloads go back.

It asks the process of this checkout's takeover, or does all of it itself where that is
gone. With --force it does so from any machine, by what the target itself has: the lease
is taken away from who has it, who is told the reason. What cannot be read, on the target
or in this checkout, is kept as a copy and does not stand in the way any more. With
--dry-run nothing is written. It may be interrupted at any moment: run it again.

Exit codes: 0 all is as it was; 1 there is nothing to hand back; 2 wrong usage, no such
workload, or the takeover's process does not answer; 3 pharos.yaml has a fault; 4 the
target cannot be reached; 5 somebody else has it, or hands it back just now; 6 it has not
come back within --timeout.`,
		Example: `  kubectl pharos handback

  # One of several workloads
  kubectl pharos handback shop/api

  # For a script: what became of each workload
  kubectl pharos handback -o json

  # What would be put back
  kubectl pharos handback --dry-run

  # That of somebody who is away
  kubectl pharos handback --force --reason "ann's laptop is gone"`,
		Args: cobra.ArbitraryArgs, ValidArgsFunction: s.completeTaken,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return o.run(cmd.Context())
		},
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.force, "force", false, "Hand back whosever takeover the target has, wherever that runs")
	f.StringVar(&o.reason, "reason", "", "With --force, why, for who has it. Required there")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long the target may take to come back. More than 0")
	dryRunFlag(cmd, &o.trial)
	return cmd
}

// handbackAnswer is what programs are told.
type handbackAnswer struct {
	Session string `json:"session,omitempty"`
	User    string `json:"user,omitempty"`
	// HandedBack says that nothing of it is left.
	HandedBack bool `json:"handedBack"`
	// DryRun says that nothing was written: Workloads are what would become of each.
	DryRun bool `json:"dryRun,omitempty"`
	// Aside is where what could not be read is kept.
	Aside     []string             `json:"aside,omitempty"`
	Workloads []handbackedWorkload `json:"workloads,omitempty"`
	failure

	// goesOn says that the takeover has other workloads still.
	goesOn bool
}

type handbackedWorkload struct {
	Workload string   `json:"workload"`
	Outcome  string   `json:"outcome,omitempty"`
	Restored []string `json:"restored,omitempty"`
	Kept     []string `json:"kept,omitempty"`
}

func (o *handbackOptions) check() error {
	dryRun, err := checkDryRun(o.trial)
	o.dryRun = dryRun
	errs := []error{err}
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(o.force && o.reason == "" && !o.dryRun, "--force needs --reason, which who has the target is told")
	wrong(!o.force && o.reason != "", "--reason is for --force")
	wrong(o.force && len(o.names) > 0, "--force hands everything back: leave out %s", strings.Join(o.names, ", "))
	wrong(o.timeout <= 0, "--timeout is %s, and must be more than 0", o.timeout)
	return usage(append(errs, o.output.check())...)
}

func (o *handbackOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	a := handbackAnswer{}
	target, err := o.handBack(ctx, &a)
	if err == nil {
		a.HandedBack = !a.goesOn && !o.dryRun
	}
	return errors.Join(err, o.print(ctx, target, a, err))
}

func (o *handbackOptions) handBack(ctx context.Context, a *handbackAnswer) (target string, err error) {
	if o.dryRun {
		return o.preview(ctx, a)
	}
	if o.force {
		return o.byForce(ctx, a)
	}
	folder, err := o.takeoverFolder()
	if err != nil {
		return "", err
	}
	client, err := guardian.Connect(ctx, folder)
	if errors.Is(err, guardian.ErrNotRunning) {
		return o.finish(ctx, folder, a)
	}
	if err != nil {
		return "", err
	}
	st, err := client.Status(ctx)
	if err != nil {
		return "", err
	}
	a.Session = st.Session
	named, err := st.Find(o.names...)
	if err != nil {
		return st.Target, usage(err)
	}
	err = o.ask(ctx, client, a, named)
	if errors.Is(err, guardian.ErrEnded) && ctx.Err() == nil {
		linef(o.ErrOut, "%v: what it has left is handed back from here", err)
		return o.finish(ctx, folder, a)
	}
	return st.Target, err
}

// toTell is for how long the events of what has been handed back are waited for.
const toTell = 5 * time.Second

// ask has the process of the takeover hand these workloads back, and shows what that does.
func (o *handbackOptions) ask(ctx context.Context, client *guardian.Client, a *handbackAnswer, named []takeover.WorkloadStatus) error {
	p := &takeoverProgress{w: o.ErrOut}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	shown, told := make(chan struct{}), make(chan struct{})
	since, left := time.Now(), len(named)
	go func() {
		defer close(shown)
		_ = client.Attach(watching, nil, func(l guardian.Line) error { // what comes of it is the answer
			if l.Event == nil || l.Event.Time.Before(since) {
				return nil
			}
			p.event(*l.Event)
			a.note(*l.Event)
			if l.Event.Type == takeover.EventRestored && slices.ContainsFunc(named, func(w takeover.WorkloadStatus) bool { return w.Workload == l.Event.Workload }) {
				if left--; left == 0 {
					close(told)
				}
			}
			return nil
		})
	}()
	err := client.HandBack(ctx, o.names...)
	goesOn := err == nil && len(o.names) > 0 && hasMore(ctx, client)
	if goesOn {
		// The answer may be faster than what it is about.
		select {
		case <-told:
		case <-shown:
		case <-time.After(toTell):
		}
	}
	if err != nil || goesOn {
		stop()
	}
	<-shown
	a.goesOn = goesOn
	return err
}

// hasMore says whether a takeover goes on with other workloads. What has none left ends by
// itself.
func hasMore(ctx context.Context, client *guardian.Client) bool {
	st, err := client.Status(ctx)
	return err == nil && len(st.Workloads) > 0
}

// finish hands a session back whose process is gone.
func (o *handbackOptions) finish(ctx context.Context, folder string, a *handbackAnswer) (string, error) {
	doc, err := takeover.Left(folder)
	if errors.Is(err, journal.ErrNone) {
		return o.targetName(ctx), notSo("there is nothing to hand back: this checkout has taken nothing over\nWhat others have: kubectl pharos lease show. To hand that back: kubectl pharos handback --force --reason TEXT")
	}
	if err != nil {
		return "", err
	}
	if len(o.names) > 0 {
		return doc.Target, notSo("the process of the takeover is gone, so that only all of it can be handed back: leave out %s\nOr go on with it: kubectl pharos takeover", strings.Join(o.names, ", "))
	}
	a.Session, a.User = doc.Session, doc.User
	if o.target == "" {
		o.target = doc.Target
	}
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return doc.Target, err
	}
	return t.Name, o.finishHere(ctx, repo, t, so, a)
}

func (o *handbackOptions) finishHere(ctx context.Context, repo *source.Repository, t standard.Target, so standard.Options, a *handbackAnswer) error {
	c, err := o.takeoverConfig(repo, t, so, &takeoverFlags{timeout: o.timeout}, nil)
	if err != nil {
		return err
	}
	p := &takeoverProgress{w: o.ErrOut}
	c.Events = func(e takeover.Event) {
		p.event(e)
		a.note(e)
	}
	s, err := takeover.New(c)
	if err != nil {
		return err
	}
	if err := s.Finish(ctx); errors.Is(err, takeover.ErrRunning) {
		return &lifecycle.BlockedError{Reason: "the takeover of this checkout is being handed back, or gone on with, by another process", Next: "Wait for it, or look at it: kubectl pharos takeover status", Err: err}
	} else if err != nil {
		return err
	}
	return nil
}

// targetName is the name of the target that is meant, as far as that is known.
func (s *shared) targetName(ctx context.Context) string {
	if s.target != "" {
		return s.target
	}
	t, err := s.targetHere(ctx)
	if err != nil {
		return ""
	}
	return t.Name
}

// note keeps what became of a workload.
func (a *handbackAnswer) note(e takeover.Event) {
	if e.Type == takeover.EventRestored {
		a.Workloads = append(a.Workloads, handbackedWorkload{Workload: e.Workload, Outcome: e.Outcome, Kept: e.Kept})
	}
}

func (o *handbackOptions) print(ctx context.Context, target string, a handbackAnswer, err error) error {
	if o.output.human() {
		switch {
		case err != nil || o.dryRun:
		case a.goesOn:
			for _, w := range a.Workloads {
				linef(o.Out, "%s: handed back; the takeover goes on without it", w.Workload)
			}
		default:
			linef(o.Out, "%s: handed back", target)
		}
		return nil
	}
	a.failure = failureOf(ctx, err)
	obj, oerr := newObject("HandBack", target, a)
	if oerr != nil {
		return oerr
	}
	return o.output.print(o.Out, obj)
}
