package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type renderOptions struct {
	*shared
	output   *output
	rev      string
	worktree bool
	digests  string
}

// Whom render asks for the digests of images.
const (
	digestsNone     = "none"
	digestsRegistry = "registry"
	digestsTarget   = "target"
)

func newRender(s *shared) *cobra.Command {
	o := &renderOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "render [REV]",
		Short: "Print the objects of a commit as they would be delivered",
		Long: `Print the objects of a commit as they would be delivered.

The overlay of the target is rendered from the commit alone, with the labels that a
delivery sets. Nothing is fetched: remote bases and charts are refused. So are
Secrets whose values stand in Git in plain text.

By default nobody is asked which digests the images have. What is not known stands
there as sha256:unknown, and its objects have an annotation for which every cluster
refuses them. With --digests registry the target's registry is asked, with
--digests target the receipts on the target, too, as a delivery does: then what is
printed is what a delivery would apply, as long as no image has to be built.

With --worktree it is the working tree that is rendered, as git add -A would commit
it.`,
		Example: `  # The objects of the last commit
  kubectl pharos render

  # Those of another one and another target, by name
  kubectl pharos render v1.2.0 --target staging -o name

  # With the digests that a delivery would use
  kubectl pharos render --digests target

  # What does an edit change?
  kubectl pharos render >/tmp/before
  kubectl pharos render --worktree | diff /tmp/before -`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeRevision,
		RunE:              atRevision(&o.rev, o.run),
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.worktree, "worktree", false, "Render the working tree, as it would be committed")
	f.StringVar(&o.digests, "digests", digestsNone, `Must be "none", "registry", or "target". Whom to ask for the digests of the images`)
	_ = cmd.RegisterFlagCompletionFunc("digests", cobra.FixedCompletions([]string{digestsNone, digestsRegistry, digestsTarget}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *renderOptions) run(ctx context.Context) error {
	switch o.digests {
	case digestsNone, digestsRegistry, digestsTarget:
	default:
		return usage(fmt.Errorf(`--digests is %q, and must be "none", "registry", or "target"`, o.digests))
	}
	if err := usage(o.output.check()); err != nil {
		return err
	}
	commit, done, err := o.commitOrWorktree(ctx, o.rev, o.worktree, "rendered")
	if err != nil {
		return err
	}
	defer done()
	t, err := o.targetAt(ctx, commit)
	if err != nil {
		return err
	}
	p, err := o.preview(ctx, commit, t)
	if err != nil {
		return err
	}
	for _, f := range p.Findings {
		linef(o.ErrOut, "warning: %s: %s", f.Subject, f.Message)
	}
	o.warnUnknown(p)
	return o.printObjects(p.Objects)
}

// commitOrWorktree returns the commit of a revision, or one without an ID for the
// working tree. Done says what the commit is without, if no revision was named.
func (s *shared) commitOrWorktree(ctx context.Context, rev string, worktree bool, use string) (commit source.Commit, done func(), err error) {
	done = func() {}
	if worktree && rev != "" {
		return commit, done, usage(errors.New("--worktree and a revision are two different trees: name one of them"))
	}
	repo, commit, err := s.commit(ctx, rev)
	if worktree && (err == nil || errors.Is(err, source.ErrUnborn)) {
		tree, err := s.workingTree(ctx)
		return source.Commit{Tree: s.cached(repo, tree)}, done, err
	}
	if errors.Is(err, source.ErrUnborn) {
		err = fmt.Errorf("%w\nWhat would be in the first one is read with --worktree", err)
	}
	if err == nil && rev == "" {
		done = s.warnDirty(ctx, repo, use)
	}
	return commit, done, err
}

func (o *renderOptions) preview(ctx context.Context, commit source.Commit, t standard.Target) (lifecycle.Preview, error) {
	if o.digests == digestsTarget {
		l, err := o.lifecycle(t)
		if err != nil {
			return lifecycle.Preview{}, err
		}
		return l.Preview(ctx, commit)
	}
	so := registryOptions()
	so.Renderings = o.renderings()
	renderer, err := standard.NewRenderer(t, so)
	if err != nil {
		return lifecycle.Preview{}, err
	}
	r := lifecycle.PreviewRequest{
		Tree: commit.Tree, Commit: commit.ID, Target: t.Name, Overlay: t.Overlay, Push: t.Registry.Push, Pull: t.Registry.Pull, Renderer: renderer,
	}
	if o.digests == digestsRegistry {
		if r.Registry, err = standard.NewRegistry(t, so); err != nil {
			return lifecycle.Preview{}, err
		}
	}
	return lifecycle.NewPreview(ctx, r)
}

// warnUnknown says which digests are not known, and why.
func (o *renderOptions) warnUnknown(p lifecycle.Preview) {
	unknown := p.Unknown()
	if len(unknown) == 0 {
		return
	}
	const refused = "sha256:unknown stands for it, and no cluster takes the objects that name it"
	if o.digests == digestsNone {
		linef(o.ErrOut, "warning: nobody was asked for the digest of %s: %s. Ask with --digests registry or --digests target", strings.Join(unknown, ", "), refused)
		return
	}
	for _, i := range p.Images {
		if i.Digest == "" {
			linef(o.ErrOut, "warning: image %s has no digest: %s: %s", i.Name, i.Reason, refused)
		}
	}
}
