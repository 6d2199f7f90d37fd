package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
)

type imagesDeleteOptions struct {
	*shared
	output *output
	unused bool
	keep   int
	dryRun bool
}

func newImagesDelete(s *shared) *cobra.Command {
	o := &imagesDeleteOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "delete (DIGEST... | --unused)",
		Short: "Delete images from the target's registry that no receipt needs",
		Long: `Delete images from the target's registry that no receipt needs.

What the applied receipt, the live one, or one of the last --keep names is never
deleted, nor what those of another target of pharos.yaml name that keeps its images
in the same folder of the registry. The leases of these targets are held meanwhile,
and the receipts are read when they are.

Only those receipts are known. What a cluster runs that is in no target of
pharos.yaml, or that another person's kubeconfig calls by the same name, looks
unused: so give each cluster a folder of the registry of its own. The command says
whose receipts counted. Where neither pharos.yaml nor --context names the cluster,
and the registry is not on this machine, --unused deletes nothing.

With --unused all is deleted that kubectl pharos images --unused lists, but for
images that somebody else tagged or pushed. DIGEST is one of those that it lists,
in full, whatever its tags. An image that was built and not delivered is unused: it
would be built again.

Registries delete manifests, and free the space of layers by a garbage collection of
their own. Many allow deletes only when they are configured so.

With -o what was deleted, or would be, is printed as a list, also if not all could
be.`,
		Example: `  # What would go?
  kubectl pharos images delete --unused --keep 20 --dry-run

  # Do it
  kubectl pharos images delete --unused --keep 20

  # One image
  kubectl pharos images delete sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
		Args: func(_ *cobra.Command, args []string) error {
			if o.unused == (len(args) > 0) {
				return errors.New("name the digests to delete, or --unused for all that no receipt needs")
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
		ValidArgsFunction: o.completeUnused,
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.unused, "unused", false, "Delete all images that no receipt needs")
	addKeep(cmd, &o.keep)
	f.BoolVar(&o.dryRun, "dry-run", false, "Say what would be deleted, and delete nothing")
	return cmd
}

var wholeDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (o *imagesDeleteOptions) run(ctx context.Context, args []string) error {
	if err := usage(o.output.check(), checkKeep(o.keep)); err != nil {
		return err
	}
	request := lifecycle.DeleteImagesRequest{Unused: o.unused, DryRun: o.dryRun}
	for _, arg := range args {
		if !wholeDigest.MatchString(arg) {
			return usage(fmt.Errorf("%q is no digest: write it in full, sha256: and 64 digits, as kubectl pharos images --unused does", arg))
		}
		request.Digests = append(request.Digests, lifecycle.Digest(arg))
	}
	l, used, err := o.usedImages(ctx, o.keep)
	if err != nil {
		return err
	}
	o.sayCounted()
	if err := o.checkCounted(request); err != nil {
		return err
	}
	request.UsedImages = used
	if o.output.human() {
		request.Deleted = func(u lifecycle.UnusedImage) { linef(o.Out, "image %q deleted", u.Reference()) }
	}
	done, err := l.DeleteImages(ctx, request)
	switch {
	case !o.output.human():
		err = errors.Join(err, o.output.printImages(o.Out, "DeletedImage", done.Deleted))
	case o.dryRun:
		for _, u := range done.Deleted {
			linef(o.Out, "image %q deleted (dry run)", u.Reference())
		}
	}
	for _, u := range done.Left {
		linef(o.ErrOut, "left: %s, which somebody else tagged or pushed", u.Reference())
	}
	if err == nil && len(done.Deleted) == 0 {
		linef(o.ErrOut, "there was nothing to delete")
	}
	return err
}

// completeUnused offers the digests of what is not used. A cluster or a registry
// that does not answer is not waited for: somebody is typing.
func (o *imagesDeleteOptions) completeUnused(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	if o.unused || checkKeep(o.keep) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	l, used, err := o.usedImages(ctx, o.keep)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	unused, err := l.UnusedImages(ctx, used)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var digests []string
	for _, u := range unused {
		if !slices.Contains(args, string(u.Digest)) {
			digests = append(digests, string(u.Digest)+"\t"+u.Name)
		}
	}
	return digests, cobra.ShellCompDirectiveNoFileComp
}
