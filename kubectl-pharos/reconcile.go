package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

type reconcileOptions struct {
	*shared
	output       *output
	rev          string
	wait         time.Duration
	timeout      time.Duration
	dryRun       string
	force        bool
	adoptObjects bool
	adopt        bool
	cancel       bool
	verbose      bool
	build        buildFlags
	given        standard.Options // by the flags of builds
}

func newReconcile(s *shared) *cobra.Command {
	o := &reconcileOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "reconcile [REV]",
		Short: "Bring the target to a commit, and prove that it is live",
		Long: `Bring the target to a commit, and prove that it is live.

Only images whose declared inputs changed are built. What is delivered is recorded
in a receipt, names every image by digest, and is applied under the target's
lease. The command ends when every object is healthy at its newest generation, or
with the reason why one is not. If there is nothing to do it says why, and writes
nothing.

It may be interrupted at any moment: run it again. Only the commit counts, never
the working tree. Objects that an earlier receipt delivered and this commit no
longer names are listed, never deleted.

The first delivery binds the target to this repository. A target that belongs to
another one, or whose records cannot be read, is refused unless --adopt says that
it is to be delivered to all the same.`,
		Example: `  # Bring the only target to the last commit
  kubectl pharos reconcile

  # What would happen?
  kubectl pharos reconcile --dry-run

  # What would happen, without having the server try the objects?
  kubectl pharos reconcile --dry-run=client

  # With a secret that a Dockerfile mounts
  kubectl pharos reconcile --secret id=npmrc,src=$HOME/.npmrc

  # Another target, another commit, and wait for a delivery that is under way
  kubectl pharos reconcile v1.2.0 --target staging --wait 2m`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeRevision,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.rev = args[0]
			}
			return o.run(cmd.Context())
		},
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.DurationVar(&o.wait, "wait", 0, "How long to wait for the lease while somebody else holds it")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "How long the target may take to become healthy, such as 90s. More than 0")
	f.StringVar(&o.dryRun, "dry-run", "none", `Must be "none", "server", or "client". Say what would be done and why, and change nothing; with server, which --dry-run alone is, the server tries every object`)
	f.Lookup("dry-run").NoOptDefVal = string(lifecycle.DryRunServer)
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server", "client"}, cobra.ShellCompDirectiveNoFileComp))
	f.BoolVar(&o.force, "force-conflicts", false, "Take over fields that another field manager owns")
	f.BoolVar(&o.adoptObjects, "adopt-objects", false, "Take over objects that are on the cluster already and were not delivered to this target")
	f.BoolVar(&o.adopt, "adopt", false, "Deliver to a target that belongs to another repository, or whose records cannot be read")
	f.BoolVar(&o.cancel, "cancel-builds", false, "When an image cannot be built, end the other builds at once, instead of letting those finish that have begun")
	f.BoolVar(&o.verbose, "build-output", false, "Show what the build tools print")
	o.build.add(cmd)
	return cmd
}

func (o *reconcileOptions) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	var fields reconcileFields
	res, err := o.reconcile(ctx, &fields)
	return errors.Join(err, o.print(fields, res, err))
}

// check refuses flags that could be meant in more than one way, before any work
// is done for them.
func (o *reconcileOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	switch o.dryRun {
	case "none":
		o.dryRun = string(lifecycle.DryRunNone)
	case string(lifecycle.DryRunServer), string(lifecycle.DryRunClient):
	default:
		return fmt.Errorf(`--dry-run is %q, and must be "none", "server", or "client"`, o.dryRun)
	}
	if o.timeout <= 0 {
		return fmt.Errorf("--timeout is %s, and must be more than 0: it is how long the target may take to become healthy", o.timeout)
	}
	if o.wait < 0 {
		return fmt.Errorf("--wait is %s, and must not be less than 0", o.wait)
	}
	return o.build.into(&o.given)
}

// hint explains a revision that was meant as the value of --dry-run, which may
// go without one, and so takes none from the next argument.
func (o *reconcileOptions) hint(err error) error {
	meant := slices.Contains([]string{"none", string(lifecycle.DryRunServer), string(lifecycle.DryRunClient)}, o.rev)
	if !meant || o.dryRun != string(lifecycle.DryRunServer) || !errors.Is(err, source.ErrUnknownRevision) {
		return err
	}
	return fmt.Errorf("%w\nIf it is how to try: --dry-run=%s", err, o.rev)
}

// reconcile fills in what is known before the delivery begins.
func (o *reconcileOptions) reconcile(ctx context.Context, f *reconcileFields) (lifecycle.ReconcileResult, error) {
	none := lifecycle.ReconcileResult{}
	repo, commit, err := o.commit(ctx, o.rev)
	if err != nil {
		return none, o.hint(err)
	}
	f.Commit, f.subject = string(commit.ID), commit.Subject
	if o.rev == "" {
		o.warnDirty(ctx, repo, "delivered")()
	}
	t, err := o.targetAt(ctx, commit)
	if err != nil {
		return none, err
	}
	f.Target = t.Name
	if err := o.warnUnheeded(ctx, commit, t); err != nil {
		return none, err
	}
	so, err := o.options(t)
	if err != nil {
		return none, err
	}
	so.Secrets, so.SSH, so.BuildKitTLS, so.Jobs = o.given.Secrets, o.given.SSH, o.given.BuildKitTLS, o.given.Jobs
	l, err := standard.New(t, so)
	if err != nil {
		return none, err
	}
	p := &progress{w: o.ErrOut, verbose: o.verbose}
	ticker := time.NewTicker(alive)
	defer ticker.Stop()
	defer p.keepAlive(ticker.C)()
	return l.Reconcile(ctx, lifecycle.ReconcileRequest{
		Commit: commit, Repository: repo, Adopt: o.adopt, Wait: o.wait, Timeout: o.timeout, DryRun: lifecycle.DryRun(o.dryRun), Force: o.force, AdoptObjects: o.adoptObjects, CancelBuilds: o.cancel,
		Events: p.event, Output: p.output,
	})
}

// warnUnheeded warns of flags that no build of the commit heeds.
func (o *reconcileOptions) warnUnheeded(ctx context.Context, commit source.Commit, t standard.Target) error {
	if len(o.given.Secrets)+len(o.given.SSH) == 0 {
		return nil
	}
	c, err := catalogueOf(ctx, commit.Tree)
	if err != nil {
		return err
	}
	for _, w := range unheeded(o.given, c.Images, t) {
		linef(o.ErrOut, "warning: %s", w)
	}
	return nil
}

type reconcileFields struct {
	subject  string
	Target   string              `json:"target,omitempty"`
	Commit   string              `json:"commit,omitempty"`
	DryRun   bool                `json:"dryRun,omitempty"`
	Plan     *lifecycle.Plan     `json:"plan,omitempty"`
	Receipt  receipt.ID          `json:"receipt,omitempty"`
	Changes  []lifecycle.Change  `json:"changes,omitempty"`
	Orphans  []receipt.Object    `json:"orphans,omitempty"`
	Findings []lifecycle.Finding `json:"findings,omitempty"`
	Seconds  float64             `json:"seconds"`
	Error    string              `json:"error,omitempty"`
}

// print writes what became of it. A program gets an answer after a failure too.
func (o *reconcileOptions) print(f reconcileFields, res lifecycle.ReconcileResult, err error) error {
	if o.output.human() {
		o.printHuman(f, res, err)
		return nil
	}
	f.DryRun, f.Receipt, f.Changes, f.Orphans, f.Findings = o.dryRun != "", res.Receipt, res.Changes, res.Orphans, res.Findings
	f.Seconds = res.Took.Seconds()
	if res.Plan.Decision != "" {
		f.Plan = &res.Plan
	}
	if err != nil {
		f.Error = message(err)
	}
	obj, err := newObject("Reconciliation", res.Operation, f)
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}

func (o *reconcileOptions) printHuman(f reconcileFields, res lifecycle.ReconcileResult, err error) {
	for _, orphan := range res.Orphans {
		linef(o.ErrOut, "orphan: %s was delivered once and is not in this commit; nobody deletes it for you", lifecycle.ObjectName(orphan))
	}
	if o.dryRun != "" {
		o.printForeseen(res.Changes)
	}
	what := fmt.Sprintf("%s %q", shortID(f.Commit), f.subject)
	switch {
	case err != nil || res.Plan.Decision == "":
	case res.Plan.Decision == lifecycle.DecideUnchanged:
		linef(o.Out, "%s: unchanged at %s (receipt %s), nothing was written, in %s", f.Target, what, res.Receipt.Short(), seconds(res.Took))
	case o.dryRun != "":
		linef(o.Out, "%s: would %s %s", f.Target, res.Plan.Decision, what)
	default:
		linef(o.Out, "%s: live at %s (receipt %s) in %s", f.Target, what, res.Receipt.Short(), seconds(res.Took))
	}
}

// printForeseen says what a dry run found would become of the objects, of those
// to which something would happen.
func (o *reconcileOptions) printForeseen(changes []lifecycle.Change) {
	verbs := map[lifecycle.ChangeType]string{lifecycle.ChangeCreated: "create", lifecycle.ChangeConfigured: "configure", lifecycle.ChangeConflict: "conflict with"}
	var lines []string
	for _, c := range changes {
		if verb := verbs[c.Type]; verb != "" {
			lines = append(lines, fmt.Sprintf("would %s %s", verb, lifecycle.ObjectName(c.Object)))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		linef(o.Out, "%s", line)
	}
}
