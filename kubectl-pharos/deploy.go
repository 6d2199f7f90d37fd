package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type deployOptions struct {
	deliveryOptions
	buildOptions
	rev        string
	adopt      bool
	controller string
	manifests  string
}

func newDeploy(s *shared) *cobra.Command {
	o := &deployOptions{deliveryOptions: deliveryOptions{shared: s}}
	cmd := &cobra.Command{
		Use:   "deploy [REV]",
		Short: "Prepare a target, and bring it to a commit",
		Long: `Prepare a target, and bring it to a commit.

It checks that the registry and the Git server answer; makes the namespaces that are
missing, which nothing prunes; gives deliveries in the cluster and the controller
accounts with the rights that they use and no others; makes what the target's way of
delivery needs; and binds the target to this repository. Each step is recorded on the
target. Then it does what reconcile does, which wants a target that was prepared.

It may be interrupted at any moment: run it again. Run on a target that is prepared it
mends what is missing. It needs an administrator's rights, once: --print shows what it
would write, for somebody who has them.`,
		Example: `  # Prepare the only target, and deliver the last commit to it
  kubectl pharos deploy

  # What would happen?
  kubectl pharos deploy --dry-run

  # With the controller
  kubectl pharos deploy --controller-image registry.example/pharos@sha256:…

  # The rights of deliveries, for an administrator
  kubectl pharos deploy --print rbac | kubectl apply --server-side -f -`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeRevision,
		RunE:              atRevision(&o.rev, o.run),
	}
	o.deliveryOptions.add(cmd)
	o.buildOptions.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.adopt, "adopt", false, "Prepare and deliver to a target that belongs to another repository, or whose records cannot be read")
	f.StringVar(&o.controller, "controller-image", "", "The image of the controller, which runs this plugin. The default is to install none, and to keep the one that is installed")
	f.StringVar(&o.manifests, "print", "", `Print the objects of a step of the preparation as YAML, such as "rbac", or of "all", and write nothing`)
	_ = cmd.RegisterFlagCompletionFunc("print", cobra.FixedCompletions([]string{"all", "namespaces", "rbac", "controller"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *deployOptions) run(ctx context.Context) error {
	if err := errors.Join(o.deliveryOptions.check(), o.buildOptions.check()); err != nil {
		return err
	}
	l, r, fields, err := o.prepare(ctx)
	if err == nil && o.manifests != "" {
		return o.printSteps(ctx, l, r)
	}
	var res lifecycle.DeployResult
	if err == nil {
		p, stop := o.progress(o.verbose)
		r.Events, r.Output = p.event, p.output
		res, err = l.Deploy(ctx, r)
		stop()
		err = o.orOurs(err)
	}
	fields.Steps = res.Steps
	for _, s := range res.Steps {
		fields.foreseen = append(fields.foreseen, s.Changes...)
	}
	return errors.Join(err, o.print(ctx, "Deploy", fields, res.ReconcileResult, err))
}

// prepare finds out what there is to know before anything begins.
func (o *deployOptions) prepare(ctx context.Context) (*lifecycle.Lifecycle, lifecycle.ReconcileRequest, deliveryFields, error) {
	var f deliveryFields
	var r lifecycle.ReconcileRequest
	repo, commit, err := o.commit(ctx, o.rev)
	if err != nil {
		return nil, r, f, err
	}
	f.Commit, f.subject = string(commit.ID), commit.Subject
	if o.rev == "" {
		o.warnDirty(ctx, repo, "delivered")()
	}
	t, err := o.targetAt(ctx, commit)
	if err != nil {
		return nil, r, f, err
	}
	f.Target = t.Name
	if asked := t.Controller; o.controller == "" && (len(asked.Sweep) > 0 || asked.Inventory) {
		linef(o.ErrOut, "warning: the target's spec.controller is not looked at without --controller-image, unless the target has a controller already")
	}
	if err := o.warnUnheeded(ctx, o.ErrOut, commit); err != nil {
		return nil, r, f, err
	}
	so, err := o.options(t)
	if err != nil {
		return nil, r, f, err
	}
	o.given(&so)
	so.ControllerImage, so.Version = o.controller, version().Version
	l, err := standard.New(t, so)
	if err != nil {
		return nil, r, f, err
	}
	holder, err := o.holder(ctx, t, so)
	r = lifecycle.ReconcileRequest{
		Commit: commit, Repository: repo, Adopt: o.adopt, Maintenance: holder, Wait: o.wait, Timeout: o.timeout, DryRun: lifecycle.DryRun(o.dryRun),
		Force: o.force, AdoptObjects: o.adoptObjects, CancelBuilds: o.cancel,
	}
	return l, r, f, err
}

// printSteps prints the objects of the preparation.
func (o *deployOptions) printSteps(ctx context.Context, l *lifecycle.Lifecycle, r lifecycle.ReconcileRequest) error {
	steps, err := l.Steps(ctx, r)
	if err != nil {
		return err
	}
	var names []string
	found := false
	for _, s := range steps {
		names = append(names, s.Name)
		if o.manifests != "all" && o.manifests != s.Name {
			continue
		}
		found = true
		if err := printManifests(o.Out, append(s.Create, s.Apply...)); err != nil {
			return err
		}
	}
	if !found {
		return usage(fmt.Errorf("--print is %q, and must be all or one of the steps of this target: %s", o.manifests, strings.Join(names, ", ")))
	}
	return nil
}
