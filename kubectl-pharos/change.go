package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/reaper"
)

// changeOptions are those of touch, extend and retain.
type changeOptions struct {
	*shared
	output    *output
	namespace *string
	dryRun    string
	done      string // "touched"
	do        func(ctx context.Context, c *reaper.Client, r reaper.Ref, how reaper.Change) (reaper.Object, error)
	warn      func(reaper.Object) string // nil: of nothing
}

// flags adds what they share to a command.
func (o *changeOptions) flags(cmd *cobra.Command) {
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) }
	cmd.ValidArgsFunction = o.complete
	o.output = newOutput(cmd)
	o.namespace = o.namespaceFlag(cmd)
	dryRunFlag(cmd, &o.dryRun)
}

// changed is what became of one object, for programs.
type changed struct {
	Object   objectFields     `json:"object"`
	Changed  bool             `json:"changed"`
	DryRun   bool             `json:"dryRun,omitempty"`
	Decision *reaper.Decision `json:"decision,omitempty"` // what is to become of it
	failure
}

// objectFields name an object.
type objectFields struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

func (o *changeOptions) run(ctx context.Context, args []string) error {
	dryRun, err := checkDryRun(o.dryRun)
	if err := usage(o.output.check(), err); err != nil {
		return err
	}
	config, refs, err := o.named(ctx, args, *o.namespace)
	if err != nil {
		return err
	}
	c, err := reaper.NewClient(config)
	if err != nil {
		return err
	}
	var items []object
	var errs []error
	for _, r := range refs {
		is, err := o.change(ctx, c, r, dryRun)
		errs = append(errs, err)
		item, perr := newObject("Change", r.Name, is)
		if perr != nil {
			return perr
		}
		items = append(items, item)
	}
	return errors.Join(errors.Join(errs...), o.output.printEach(o.Out, "ChangeList", items))
}

// change changes one object by its UID, and says for people what became of it.
func (o *changeOptions) change(ctx context.Context, c *reaper.Client, r reaper.Ref, dryRun bool) (changed, error) {
	is := changed{DryRun: dryRun}
	obj, err := c.Get(ctx, r)
	if err == nil {
		r.UID = obj.UID
		obj, err = o.do(ctx, c, r, reaper.Change{DryRun: dryRun})
	}
	err = lifecycle.TargetError(err)
	is.Object = objectFields{r.Group, r.Version, r.Kind, r.Namespace, r.Name, r.UID}
	is.failure = failureOf(ctx, err)
	if err != nil {
		return is, err
	}
	if o.warn != nil {
		if w := o.warn(obj); w != "" {
			linef(o.ErrOut, "warning: %s: %s", objectName(r.Group, r.Kind, r.Name), oneLine(w))
		}
	}
	now, err := c.Now(ctx)
	if err != nil {
		return is, lifecycle.TargetError(err)
	}
	d := reaper.Rules{}.Decide(obj, now.Truncate(time.Second))
	is.Changed, is.Decision = !dryRun, &d
	if o.output.human() {
		would := ""
		if dryRun {
			would = " (dry run)"
		}
		linef(o.Out, "%s %s%s: %s", objectName(r.Group, r.Kind, r.Name), o.done, would, d.Message)
	}
	return is, nil
}
