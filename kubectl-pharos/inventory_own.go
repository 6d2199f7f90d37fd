package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

type inventoryOwnOptions struct {
	*shared
	output    *output
	namespace *string
	owner     string
	overwrite bool
	dryRun    string
}

func newInventoryOwn(s *shared) *cobra.Command {
	o := &inventoryOwnOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "own KIND/NAME... --owner WHO",
		Short: "Say whose something durable is",
		Long: `Say whose something durable is that nobody declares: whom to ask before it is deleted.

It sets the annotation ` + keys.Owner + ` of just that object; one that came in its place
meanwhile is not written to. Where somebody else is the owner, nothing is changed
without --overwrite.`,
		Example: `  kubectl pharos inventory own pvc/data --namespace shop --owner ann@example.org

  # Several at once
  kubectl pharos inventory own pv/pvc-1 pv/pvc-2 --owner data-team`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name what it is about, such as pvc/data")
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.output = newOutput(cmd)
	o.namespace = o.namespaceFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.owner, "owner", "", "Whom to ask: a person, a team or an address. Required")
	f.BoolVar(&o.overwrite, "overwrite", false, "Also if somebody else is the owner")
	dryRunFlag(cmd, &o.dryRun)
	_ = cmd.MarkFlagRequired("owner")
	_ = cmd.RegisterFlagCompletionFunc("owner", cobra.NoFileCompletions)
	return cmd
}

// owned is what became of one object, for programs.
type owned struct {
	Object objectFields `json:"object"`
	Owner  string       `json:"owner"`
	Before string       `json:"before,omitempty"`
	DryRun bool         `json:"dryRun,omitempty"`
	failure
}

func (o *inventoryOwnOptions) run(ctx context.Context, args []string) error {
	dryRun, err := checkDryRun(o.dryRun)
	if err := usage(o.output.check(), err); err != nil {
		return err
	}
	config, refs, err := o.named(ctx, args, *o.namespace)
	if err != nil {
		return err
	}
	i, err := inventory.New(inventory.Config{REST: config})
	if err != nil {
		return err
	}
	var items []object
	var errs []error
	for _, r := range refs {
		is := o.own(ctx, i, r, dryRun, &errs)
		item, err := newObject("Ownership", r.Name, is)
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	return errors.Join(errors.Join(errs...), o.output.printEach(o.Out, "OwnershipList", items))
}

// own sets the owner of one object, and says for people what became of it.
func (o *inventoryOwnOptions) own(ctx context.Context, i *inventory.Inventory, r reaper.Ref, dryRun bool, errs *[]error) owned {
	is := owned{Object: objectFields{r.Group, r.Version, r.Kind, r.Namespace, r.Name, r.UID}, Owner: o.owner, DryRun: dryRun}
	before, err := i.Own(ctx, r, o.owner, inventory.Ownership{Overwrite: o.overwrite, DryRun: dryRun})
	if errors.Is(err, inventory.ErrOwned) {
		err = notSo("%v\nWith --overwrite it is taken over.", err)
	}
	err = lifecycle.TargetError(err)
	is.Before, is.failure = before, failureOf(ctx, err)
	*errs = append(*errs, err)
	if err != nil || !o.output.human() {
		return is
	}
	would, name := "", objectName(r.Group, r.Kind, r.Name)
	if dryRun {
		would = " (dry run)"
	}
	switch before {
	case o.owner:
		linef(o.Out, "%s is owned by %s already", name, o.owner)
	case "":
		linef(o.Out, "%s owned by %s%s", name, o.owner, would)
	default:
		linef(o.Out, "%s owned by %s%s, and before by %s", name, o.owner, would, before)
	}
	return is
}
