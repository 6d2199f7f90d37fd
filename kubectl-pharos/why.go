package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

type whyOptions struct {
	*shared
	output *output
	from   string
	to     string
}

func newWhy(s *shared) *cobra.Command {
	o := &whyOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "why IMAGE",
		Short: "Say why an image changed, or that it did not",
		Long: `Say why an image changed, or that it did not.

An image changes with its fingerprint, and that has reasons: inputs, what
pharos.yaml says of it, its bases, the catalogue's images that it is built on, and
how it is built. All of them are said. If there is none, the command says which
paths differ all the same, and what they are for.

--from and --to each are a revision; or worktree, for what lies in the working
tree and would be committed; or receipt, for the target's live receipt; or a
receipt: its ID, or receipt:NAME with what receipts show takes. Only receipts need
a cluster. Without --from, it is the live receipt.

The exit code is 0 whether the image changed or not, and 3 if there is no such
image or revision, or if the image has no fingerprint at --to.`,
		Example: `  # Why would the next delivery build api again?
  kubectl pharos why api

  # Does what is not committed yet reach it? No cluster is needed
  kubectl pharos why api --from HEAD --to worktree

  # What a release changed in it, for a script
  kubectl pharos why api --from v1.2.0 --to v1.3.0 -o json`,
		Args:              oneImage,
		ValidArgsFunction: s.completeImages,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringVar(&o.from, "from", sideReceipt, "What to compare with: a revision, worktree, receipt or a receipt's ID")
	f.StringVar(&o.to, "to", "", "What to explain: as --from. The default is HEAD")
	for _, name := range []string{"from", "to"} {
		_ = cmd.RegisterFlagCompletionFunc(name, s.completeSides)
	}
	return cmd
}

func oneImage(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("name one image of pharos.yaml: see kubectl pharos images")
	}
	return nil
}

func (o *whyOptions) run(ctx context.Context, image string) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	new, err := o.side(ctx, o.to, image) // which mostly needs no cluster
	if err != nil {
		return err
	}
	old, err := o.side(ctx, o.from, image)
	if err != nil && !errors.Is(err, catalogue.ErrNoCatalogue) { // from before it, every image is new
		if errors.Is(err, lifecycle.ErrUnreachable) && !slices.Contains(new.Images(), image) && ctx.Err() == nil {
			return fmt.Errorf("%w\nWhether --from %s has it cannot be told: %v", unknownImage(image, new.Images()), cmp.Or(o.from, "HEAD"), err)
		}
		return err
	}
	if o.output.human() && o.to == "" && o.from != sideWorktree {
		defer o.warnDirty(ctx, new.repo, "compared")()
	}
	x, err := catalogue.Explain(ctx, image, old.Side, new.Side, old.reads)
	if errors.Is(err, catalogue.ErrUnknownImage) {
		return unknownImage(image, append(new.Images(), old.Images()...))
	}
	if err != nil {
		return &lifecycle.Error{Op: "explain", On: "image " + image, Class: lifecycle.ErrSource, Err: err}
	}
	if err := o.print(x, old, new); err != nil {
		return err
	}
	if o.output.human() && !x.Changed && o.from == sideReceipt && o.to == "" && old.parent != "" {
		// Right after a delivery this is what was meant.
		linef(o.ErrOut, "What the delivery of receipt %s changed: %s", old.receipt.Short(), o.command(image, old.parent))
	}
	if x.NewErr != nil {
		return &lifecycle.Error{Op: "compute the fingerprint at " + new.name(), Class: lifecycle.ErrSource, Err: &catalogue.ImageError{Image: image, Err: x.NewErr}}
	}
	return nil
}

// command is this one, since a receipt.
func (o *whyOptions) command(image string, from receipt.ID) string {
	command := "kubectl pharos why " + image + " --from " + from.Short()
	if o.target != "" {
		command += " --target " + o.target
	}
	return command
}

func unknownImage(name string, images []string) error {
	e := &lifecycle.Error{Op: "explain", On: fmt.Sprintf("image %q", name), Class: lifecycle.ErrSource, Err: errors.New("pharos.yaml has no such image")}
	e.Advice = "It has " + listed(images) + "."
	if near := nearest(name, images); len(near) > 0 {
		e.Advice = "Did you mean " + near[0] + "? " + e.Advice
	}
	return e
}
