package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/lock"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type lockOptions struct {
	*shared
	output   *output
	update   bool
	check    bool
	dryRun   bool
	rev      string
	insecure []string
	timeout  time.Duration
}

func newLock(s *shared) *cobra.Command {
	o := &lockOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "lock [--update [REFERENCE...] | --check [--rev REV]]",
		Short: "Write down which images the tags stand for that images are built on",
		Long: `Write down which images the tags stand for that images are built on.

pharos.lock, at the root of the repository, holds the digest of every base and
every Dockerfile frontend that is not named by digest, and that of BuildKit's image
where a Target builds in Jobs. Commit it: whoever has the commit then builds on the
same images, and an image is built again for a new base
when the lock says so, not when somebody moves a tag.

lock reads the working tree, adds what is missing to its pharos.lock, and removes
what no image uses. What stands there is not asked for and does not move.

--update has every reference, or those that are named, moved to what they lead to
now. --check writes nothing: it asks for all, prints what is missing, has moved or
is unused, and exits with 1 if anything is.

Only registries are asked, no cluster, with the credentials of docker login.
Plain HTTP is allowed on the registry of a Target with insecure: true, and where
--insecure-registry says so. If a reference cannot be looked up, nothing is
written.`,
		Example: `  # After a base was added to pharos.yaml or a Dockerfile
  kubectl pharos lock

  # Which bases have moved? In CI, or once a day
  kubectl pharos lock --check

  # Take the new ones, all or one
  kubectl pharos lock --update
  kubectl pharos lock --update alpine:3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && !o.update {
				return errors.New("references are named to move them: add --update")
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
		ValidArgsFunction: o.completeReferences,
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.update, "update", false, "Move all references, or those that are named, to what they lead to now")
	f.BoolVar(&o.check, "check", false, "Say what is missing, has moved or is unused, and write nothing")
	f.StringVar(&o.rev, "rev", "", "The revision that --check looks at. The default is the working tree")
	f.BoolVar(&o.dryRun, "dry-run", false, "Say what would be written, and write nothing")
	f.StringArrayVar(&o.insecure, "insecure-registry", nil, "A host, such as localhost:5000, on which plain HTTP is allowed; may be repeated")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "How long the answer for one reference may take")
	_ = cmd.RegisterFlagCompletionFunc("rev", s.completeRevisions)
	return cmd
}

func (o *lockOptions) run(ctx context.Context, references []string) error {
	if err := usage(o.checkFlags()); err != nil {
		return err
	}
	tree, err := o.tree(ctx)
	if err != nil {
		return err
	}
	targets, err := standard.ReadTargets(ctx, tree)
	if err != nil {
		return err
	}
	resolver, err := o.resolver(targets, o.insecure)
	if err != nil {
		return err
	}
	all := o.update && len(references) == 0
	asked := &counter{w: o.ErrOut, what: "asking registries"}
	report, err := lock.Compare(ctx, tree, lock.Options{
		Resolver: resolver, All: o.check || all, References: references, Anew: all,
		More: standard.LockedReferences(targets), Timeout: o.timeout, Progress: asked.count,
	})
	asked.clear()
	if report == nil {
		return err
	}
	written := false
	if err == nil && !o.check && !o.dryRun {
		if written, err = o.write(report); err != nil {
			return err
		}
	}
	if err := errors.Join(err, o.print(report, written, err != nil)); err != nil {
		return err
	}
	if o.check && report.Differs() {
		return errNotSo
	}
	return nil
}

func (o *lockOptions) checkFlags() error {
	switch {
	case o.check && o.update:
		return errors.New("--check and --update contradict each other: one writes nothing, the other does")
	case o.check && o.dryRun:
		return errors.New("--check writes nothing in any case: leave --dry-run out")
	case o.rev != "" && !o.check:
		return errors.New("--rev is for --check: a commit cannot be written to")
	case o.timeout <= 0:
		return fmt.Errorf("--timeout is %s, and must be more than 0", o.timeout)
	}
	for _, host := range o.insecure {
		if host == "" || strings.ContainsAny(host, "/@ ") {
			return fmt.Errorf("--insecure-registry is %q, and must be a host, such as localhost:5000", host)
		}
	}
	return o.output.check()
}

func (o *lockOptions) tree(ctx context.Context) (source.Tree, error) {
	if o.rev == "" {
		return o.workingTree(ctx)
	}
	_, commit, err := o.commit(ctx, o.rev)
	return commit.Tree, err
}

// resolver asks registries as the user of this process, over plain HTTP where
// the targets or the hosts allow it.
func (s *shared) resolver(targets []standard.Target, insecure []string) (*registry.Registry, error) {
	hosts := slices.Clone(insecure)
	for _, t := range targets {
		if t.Registry.Insecure {
			// Bases in it may be named as builders or as the target reach it.
			for _, repository := range []string{t.Registry.Push, t.Registry.Pull} {
				host, _, _ := strings.Cut(repository, "/")
				hosts = append(hosts, host)
			}
		}
	}
	return registry.New(registry.Config{Keychain: authn.DefaultKeychain, InsecureHosts: hosts, Transport: proxied()})
}

func (o *lockOptions) write(report *lock.Report) (bool, error) {
	repo, err := source.Open(o.repo)
	if err != nil {
		return false, err
	}
	return report.Write(repo.Root())
}

// completeReferences offers the references that the working tree's lock holds.
func (o *lockOptions) completeReferences(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	tree, err := o.workingTree(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	held, err := catalogue.LoadLock(cmd.Context(), tree)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, given := range args {
		delete(held.Images, given)
	}
	var references []string
	for reference := range held.Images {
		references = append(references, reference)
	}
	return references, cobra.ShellCompDirectiveNoFileComp
}
