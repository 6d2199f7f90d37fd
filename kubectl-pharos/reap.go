package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

type reapOptions struct {
	*shared
	output       *output
	dryRun       string
	namespace    string
	only         []string
	unseen       []string
	foreign      []string
	notifyBefore duration
	events       bool
	rate         float64
	parallel     int
	yes          bool
	askAbove     int
}

func newReap(s *shared) *cobra.Command {
	o := &reapOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "reap",
		Short: "Delete once what is transient and past its end",
		Long: `Delete once what says that it is transient (` + keys.Intent + `) and is past its end.

Each object is read anew and decided about right before it is deleted, and is deleted
only as it was read. What is declared, retained, owned, the system's, or cannot be read
stays, and so does a namespace that holds something which is to outlive it: those are
findings. What cannot be looked at is listed, and is never taken for absent.

It looks at these resources in all namespaces, unless --only names others:
` + indented(sweep.DefaultResources()) + `
--only "*" stands for all that can be deleted but secrets, events and endpoints,
which have to be named. On a terminal it asks before it deletes more than --ask-above
objects.

The exit code is 1 if there are findings, or something could not be looked at.`,
		Example: `  # What would be deleted, and what should be looked at
  kubectl pharos reap --dry-run

  # Delete it
  kubectl pharos reap

  # Only namespaces, from a script
  kubectl pharos reap --only namespaces --yes -o name

  # What kube-janitor would delete too
  kubectl pharos reap --only '*' --foreign janitor --dry-run`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	dryRunFlag(cmd, &o.dryRun)
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "", "Look only at this namespace and what is in it")
	f.StringSliceVar(&o.only, "only", nil, "Look only at these resources, such as configmaps or deployments.apps")
	f.StringSliceVar(&o.unseen, "unseen", nil, "Resources that the end of a namespace does not look at, such as secrets: nothing of them keeps it")
	f.StringSliceVar(&o.foreign, "foreign", nil, "Read the keys of these tools too: "+strings.Join(foreigners(), ", "))
	f.Var(&o.notifyBefore, "notify-before", "Record a warning Event on what ends within this time, such as 1h")
	f.BoolVar(&o.events, "events", true, "Record an Event on what is deleted")
	f.Float64Var(&o.rate, "deletes-per-second", sweep.DefaultDeletesPerSecond, "How many objects are deleted a second at most")
	f.IntVar(&o.parallel, "concurrent-deletes", sweep.DefaultConcurrentDeletes, "How many objects are deleted at once")
	f.BoolVarP(&o.yes, "yes", "y", false, "Do not ask")
	f.IntVar(&o.askAbove, "ask-above", 10, "Ask on a terminal before more objects than this are deleted; a namespace is one, whatever is in it")
	resources := cobra.FixedCompletions(append(sweep.DefaultResources(), sweep.Everything), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("only", resources)
	_ = cmd.RegisterFlagCompletionFunc("unseen", resources)
	_ = cmd.RegisterFlagCompletionFunc("foreign", cobra.FixedCompletions(foreigners(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
	return cmd
}

func (o *reapOptions) run(ctx context.Context) error {
	dryRun, err := checkDryRun(o.dryRun)
	if err := usage(o.output.check(), err); err != nil {
		return err
	}
	config, err := o.sweepConfig(ctx)
	if err != nil {
		return err
	}
	if o.namespace != "" {
		if err := o.wantNamespaces(ctx, config.REST, []string{o.namespace}); err != nil {
			return err
		}
	}
	if config.DryRun = dryRun; dryRun {
		config.DeletesPerSecond = -1 // it deletes nothing
	}
	if !dryRun && !o.yes && terminal(o.In) {
		if err := o.confirm(ctx, config); err != nil {
			return err
		}
	}
	p := newReapPrinter(o, dryRun)
	report, err := o.pass(ctx, config, p.item)
	if perr := p.report(report, err); perr != nil {
		return errors.Join(err, perr)
	}
	if err == nil && !report.Clean() {
		return errNotSo
	}
	return err
}

func (o *reapOptions) pass(ctx context.Context, config sweep.Config, each func(sweep.Item)) (sweep.Report, error) {
	e, err := sweep.New(config)
	if err != nil {
		return sweep.Report{}, err
	}
	report, err := e.Pass(ctx, sweep.PassOptions{Resources: o.only, Namespace: o.namespace, Each: each})
	return report, lifecycle.TargetError(err)
}

func (o *reapOptions) sweepConfig(ctx context.Context) (sweep.Config, error) {
	c := sweep.Config{
		DeletesPerSecond: o.rate, ConcurrentDeletes: o.parallel, NotifyBefore: time.Duration(o.notifyBefore),
		Events: o.events, Unseen: o.unseen, Instance: "kubectl-pharos",
	}
	if o.rate <= 0 || o.parallel <= 0 {
		return c, usage(errors.New("--deletes-per-second and --concurrent-deletes have to be more than 0"))
	}
	var err error
	if c.Rules.Foreign, err = foreignOf(o.foreign); err != nil {
		return c, err
	}
	t, err := o.targetHere(ctx)
	if err != nil {
		return c, err
	}
	// Where Pharos and what delivers for it live, nothing ends.
	c.Rules.ProtectedNamespaces = []string{cmp.Or(t.Namespace, standard.DefaultNamespace)}
	if a := t.Deliver.ArgoCD; a != nil {
		c.Rules.ProtectedNamespaces = append(c.Rules.ProtectedNamespaces, a.Namespace)
	}
	c.REST, err = o.restConfig(t)
	return c, err
}

func foreigners() (names []string) {
	for _, f := range reaper.Foreigners {
		names = append(names, string(f))
	}
	return names
}

// foreignOf are the tools of these names.
func foreignOf(names []string) ([]reaper.Foreign, error) {
	var tools []reaper.Foreign
	for _, name := range names {
		if !slices.Contains(foreigners(), name) {
			return nil, usage(fmt.Errorf("--foreign knows no %q, only %s", name, strings.Join(foreigners(), ", ")))
		}
		tools = append(tools, reaper.Foreign(name))
	}
	return tools, nil
}

// indented are words in lines of a help text, of at most 80 characters.
func indented(words []string) string {
	var b strings.Builder
	left := 0
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		if left -= len(word) + 1; left < 0 {
			b.WriteString("\n ")
			left = 78 - len(word) - 1
		}
		b.WriteString(" " + word)
	}
	return b.String() + "\n"
}
