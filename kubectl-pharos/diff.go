package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
)

type diffOptions struct {
	*shared
	output       *output
	rev          string
	worktree     bool
	force        bool
	adoptObjects bool
}

func newDiff(s *shared) *cobra.Command {
	o := &diffOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "diff [REV]",
		Short: "Show what a delivery would change on the target",
		Long: `Show what a delivery would change on the target.

The server is asked what it would make of each object of the commit, with its
defaults, and nothing is changed. What only the server writes, such as the status,
is left out. Of Secrets it shows which values differ, never what they are. Images
that have to be built stand there with a digest of zeros.

Objects that an earlier receipt delivered and the commit no longer names are listed;
a delivery does not delete them, so they are no difference.

If the environment variable KUBECTL_EXTERNAL_DIFF is set, that program shows the
differences, as with kubectl diff: it gets two folders of files.

Exit codes: 0 a delivery would change nothing; 1 it would; more than 1 an error.`,
		Example: `  # What would the last commit change?
  kubectl pharos diff

  # What would the edits that are not committed yet?
  kubectl pharos diff --worktree

  # In another way, and for a script
  KUBECTL_EXTERNAL_DIFF="diff -u -N --color=always" kubectl pharos diff
  kubectl pharos diff v1.2.0 -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeRevision,
		RunE:              atRevision(&o.rev, o.run),
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.worktree, "worktree", false, "Compare the working tree, as it would be committed")
	f.BoolVar(&o.force, "force-conflicts", false, "Show what becomes of fields that another field manager owns if they are taken over")
	f.BoolVar(&o.adoptObjects, "adopt-objects", false, "Show what becomes of objects that are there already and were not delivered to this target if they are taken over")
	return cmd
}

func (o *diffOptions) run(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	commit, done, err := o.commitOrWorktree(ctx, o.rev, o.worktree, "compared")
	if err != nil {
		return err
	}
	defer done()
	t, err := o.targetAt(ctx, commit)
	if err != nil {
		return err
	}
	l, err := o.lifecycle(t)
	if err != nil {
		return err
	}
	d, err := l.Diff(ctx, lifecycle.DiffRequest{Commit: commit, Force: o.force, AdoptObjects: o.adoptObjects})
	o.warn(d)
	differs, printErr := o.print(ctx, string(commit.ID), t.Name, d, err)
	if err := errors.Join(err, printErr); err != nil {
		return err
	}
	if differs {
		return errNotSo
	}
	return nil
}

// warn says what is no difference.
func (o *diffOptions) warn(d lifecycle.Diff) {
	for _, f := range d.Findings {
		linef(o.ErrOut, "warning: %s: %s", f.Subject, f.Message)
	}
	for _, i := range d.Images {
		if i.Build() {
			linef(o.ErrOut, "image %s has to be built, so zeros stand for its digest", i.Name)
		}
	}
	for _, c := range d.Changes {
		if c.Provisional {
			linef(o.ErrOut, "%s gets another name once its images are built", lifecycle.ObjectName(c.Object))
		}
	}
	for _, orphan := range d.Orphans {
		linef(o.ErrOut, "orphan: %s was delivered once and is not in this commit; nobody deletes it for you", lifecycle.ObjectName(orphan))
	}
}

// print writes the differences, and says whether there are any.
func (o *diffOptions) print(ctx context.Context, commit, target string, d lifecycle.Diff, err error) (bool, error) {
	if !o.output.human() {
		return len(d.Changes) > 0, o.printFields(ctx, commit, target, d, err)
	}
	files, err := filesOf(d.Changes)
	if err != nil {
		return false, err
	}
	if external := os.Getenv("KUBECTL_EXTERNAL_DIFF"); external != "" {
		return o.external(ctx, external, files)
	}
	return len(files) > 0, o.unified(files)
}
