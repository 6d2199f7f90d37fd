package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

type imagesOptions struct {
	*shared
	output   *output
	rev      string
	worktree bool
	check    bool
	bases    bool
	unused   bool
	pushed   bool // --target is given, with its name or without
	keep     int

	head *computed // instead of the working tree's, if it is of the same tree
}

func newImages(s *shared) *cobra.Command {
	o := &imagesOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "images",
		Short: "List the images of a commit with their fingerprints",
		Long: `List the images of a commit with their fingerprints.

A fingerprint stands for everything that can reach an image: the recipe, the
toolchain, the bases and the declared inputs. It is computed from the commit
alone; no cluster and no registry is asked. If an image has none, the command says
why and exits with 3.

With --target the target's registry is asked, too, which of the fingerprints it has:
an image that it has all parts of, under the digest that is shown. No cluster is
asked. Where pharos.yaml has one target alone, its name may be left out.

With --worktree it is computed from the working tree as git add -A would commit
it: edits, deletions and new files that are not ignored. It is the one that the
commit will have. The index and the objects of the repository are not touched.

--check looks for what is declared wrongly and exits with 1 if it finds
something: patterns that match nothing or cancel each other out, files that a
recipe reads and the inputs leave out, inputs of which it reads nothing, toolchains
that are not named, mistakes in targets, overlays that cannot be delivered. Go
images are looked at with the go command, which downloads modules and a toolchain
that are not there yet; no cluster is asked, and no registry but with --bases, which
looks for locked base images whose tags have moved.

--unused lists what the target's registry holds of its images, and no receipt of the
last --keep deliveries names: see kubectl pharos images delete --help.`,
		Example: `  # The images of the last commit
  kubectl pharos images

  # Those of another one, for a script
  kubectl pharos images --rev v1.2.0 -o json

  # What would the commit change that is not made yet?
  kubectl pharos images --worktree

  # Which of them has the registry of a target?
  kubectl pharos images --target
  kubectl pharos images --target devbox

  # Is pharos.yaml as it should be? Have the bases moved?
  kubectl pharos images --check
  kubectl pharos images --check --bases

  # What of the registry does no delivery need any more?
  kubectl pharos images --unused --keep 20`,
		Args: func(cmd *cobra.Command, args []string) error {
			o.askTarget(cmd.Flags().Changed("target"), &args)
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("keep") && !o.unused {
				return usage(errors.New("--keep is for --unused: add it"))
			}
			if o.target == onlyTarget {
				o.target = "" // which leads to it, or to an error that lists them
			}
			return o.run(cmd.Context())
		},
	}
	o.output = newOutput(cmd)
	cmd.Flags().StringVar(&o.rev, "rev", "", "The revision. The default is HEAD")
	cmd.Flags().BoolVar(&o.worktree, "worktree", false, "Read the working tree, as it would be committed")
	_ = cmd.RegisterFlagCompletionFunc("rev", s.completeRevisions)
	cmd.Flags().BoolVar(&o.check, "check", false, "Look for what is declared wrongly")
	cmd.Flags().BoolVar(&o.bases, "bases", false, "With --check, ask registries which locked base images have moved")
	cmd.Flags().BoolVar(&o.unused, "unused", false, "List what the target's registry holds and no recent receipt names")
	addKeep(cmd, &o.keep)
	addOptionalTarget(cmd, s)
	cmd.AddCommand(newImagesDelete(s))
	return cmd
}

// checkFlags refuses flags that have nothing to do with each other.
func (o *imagesOptions) checkFlags() error {
	switch {
	case o.check && o.unused:
		return errors.New("--check looks at pharos.yaml, and --unused at the registry: name one of them")
	case o.check && o.pushed:
		return errors.New("--check looks at all targets: leave --target out")
	case o.bases && !o.check:
		return errors.New("--bases is a part of --check: add it")
	case o.unused && (o.rev != "" || o.worktree):
		return errors.New("--unused goes by receipts, whatever the commit: leave --rev and --worktree out")
	}
	if err := checkKeep(o.keep); err != nil {
		return err
	}
	return o.output.check()
}

func (o *imagesOptions) run(ctx context.Context) error {
	if err := usage(o.checkFlags()); err != nil {
		return err
	}
	if o.unused {
		return o.runUnused(ctx)
	}
	tree, done, err := o.tree(ctx)
	if err != nil {
		return err
	}
	defer done()
	if o.check {
		return o.runCheck(ctx, tree)
	}
	now, err := o.compute(ctx, tree)
	if err != nil {
		return err
	}
	images := now.images(ctx, tree)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if o.pushed {
		if err := o.askRegistry(ctx, tree, now.states, images); err != nil {
			return err
		}
	}
	if err := o.printImages(images); err != nil {
		return err
	}
	if now.err != nil {
		return &lifecycle.Error{Op: "compute fingerprints", Class: lifecycle.ErrSource, Err: now.err}
	}
	return nil
}

// compute computes of a tree what was not computed of HEAD.
func (o *imagesOptions) compute(ctx context.Context, tree source.Tree) (*computed, error) {
	if o.head != nil && o.head.tree == tree.ID {
		return o.head, nil
	}
	c, err := catalogueOf(ctx, tree)
	if err != nil {
		return nil, err
	}
	states, err := c.States(ctx, tree)
	return &computed{tree.ID, c, states, err}, nil
}

// tree returns the tree that the flags name. done says what was not read of the
// working tree, if a person may expect it.
func (o *imagesOptions) tree(ctx context.Context) (tree source.Tree, done func(), err error) {
	done = func() {}
	switch {
	case o.worktree && o.rev != "":
		return tree, done, usage(errors.New("--worktree and --rev are two different trees: name one of them"))
	case o.worktree && o.check:
		tree, err = o.workingTree(ctx)
		return tree, done, err
	case o.worktree:
		tree, o.head, err = o.workingTreeAndHead(ctx)
		return tree, done, err
	}
	repo, commit, err := o.commit(ctx, o.rev)
	if errors.Is(err, source.ErrUnborn) {
		err = fmt.Errorf("%w\nWhat would be in the first one is read with --worktree", err)
	}
	if err == nil && o.output.human() && o.rev == "" {
		done = o.warnDirty(ctx, repo, "read")
	}
	return commit.Tree, done, err
}

// imageFields is an image as it is printed. The fields stand in the order of
// their names, as in all that is printed as JSON.
type imageFields struct {
	APIVersion string `json:"apiVersion"`
	Builder    string `json:"builder"`
	// Error says why there is no fingerprint.
	Error       string                `json:"error,omitempty"`
	Files       int                   `json:"files"`
	Fingerprint catalogue.Fingerprint `json:"fingerprint,omitempty"`
	Kind        string                `json:"kind"`
	Metadata    imageName             `json:"metadata"`
	Platforms   []string              `json:"platforms"`
	// Preimage is what the fingerprint is the hash of.
	Preimage []catalogue.Field `json:"preimage,omitempty"`
	// Pushed is what the target's registry has under the fingerprint, if it was
	// asked.
	Pushed *pushedFields `json:"pushed,omitempty"`
	Tree   source.ID     `json:"tree,omitempty"`
	// Unlocked are the references whose digest is in neither the recipe nor
	// pharos.lock.
	Unlocked []string `json:"unlocked,omitempty"`
}

type imageName struct {
	Name string `json:"name"`
}

type imageList struct {
	APIVersion string        `json:"apiVersion"`
	Items      []imageFields `json:"items"`
	Kind       string        `json:"kind"`
}

// images returns all images of the catalogue, in its order, with what there is
// to know of them.
func (c *computed) images(ctx context.Context, tree source.Tree) []imageFields {
	known := map[string]catalogue.State{}
	for _, st := range c.states {
		known[st.Image.Name] = st
	}
	failed := map[string]error{}
	for _, f := range catalogue.FailedImages(c.err) {
		failed[f.Image] = f.Err
	}
	images := make([]imageFields, 0, len(c.catalogue.Images))
	for _, img := range c.catalogue.Images {
		f := imageFields{APIVersion: apiVersion, Kind: "Image", Metadata: imageName{img.Name}, Builder: img.Build.Kind(), Platforms: img.Platforms}
		if st, ok := known[img.Name]; ok {
			f.Fingerprint, f.Tree, f.Files, f.Preimage = st.Fingerprint, st.Inputs.ID, st.Files, st.Preimage
		} else {
			f.explain(ctx, img, tree, failed[img.Name])
		}
		images = append(images, f)
	}
	return images
}

// explain fills in what is known of an image that has no fingerprint.
func (f *imageFields) explain(ctx context.Context, img catalogue.Image, tree source.Tree, err error) {
	if err != nil {
		f.Error = err.Error()
	}
	if e, ok := errors.AsType[*catalogue.UnlockedError](err); ok {
		f.Unlocked = e.References
	}
	if pruned, files, err := catalogue.Prune(ctx, tree, img.Inputs); err == nil {
		f.Tree, f.Files = pruned.ID, files
	}
}

func (o *imagesOptions) printImages(images []imageFields) error {
	if o.output.human() {
		if len(images) == 0 {
			linef(o.ErrOut, "%s has no images", catalogue.FileName)
			return nil
		}
		var rows [][]any
		for _, f := range images {
			fingerprint := string(f.Fingerprint)
			if fingerprint == "" {
				fingerprint = "<none>"
			}
			files := any(f.Files)
			if f.Tree == "" { // it is not known which they are
				files = "<none>"
			}
			row := []any{f.Metadata.Name, f.Builder, files, fingerprint}
			if o.pushed {
				row = append(row, f.Pushed.digest())
			}
			rows = append(rows, append(row, string(f.Tree)))
		}
		columns := []column{{name: "Name"}, {name: "Builder"}, {name: "Files"}, {name: "Fingerprint"}}
		if o.pushed {
			columns = append(columns, column{name: "Pushed"})
		}
		return o.output.table(o.Out, append(columns, column{name: "Tree", wide: true}), rows)
	}
	if o.output.format() == "json" {
		// There may be hundreds, and the printers would convert each of them several times.
		return printJSON(o.Out, imageList{APIVersion: apiVersion, Items: images, Kind: "ImageList"})
	}
	var items []object
	for _, f := range images {
		item, err := newObject(f.Kind, f.Metadata.Name, f)
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	return o.output.printList(o.Out, "ImageList", items)
}
