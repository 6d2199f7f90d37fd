package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
)

type imagesOptions struct {
	*shared
	output *output
	rev    string
	check  bool
}

func newImages(s *shared) *cobra.Command {
	o := &imagesOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "images",
		Short: "List the images of a commit with their fingerprints",
		Long: `List the images of a commit with their fingerprints.

A fingerprint stands for everything that can reach an image: the recipe, the
toolchain, the bases and the declared inputs. It is computed from the commit
alone; no cluster and no registry is asked.

--check looks for what is declared wrongly and exits with 1 if it finds
something: patterns that match nothing or cancel each other out, images that miss
their own source, toolchains that are not pinned.`,
		Example: `  # The images of the last commit
  kubectl pharos images

  # Those of another one, for a script
  kubectl pharos images --rev v1.2.0 -o json

  # Is pharos.yaml as it should be?
  kubectl pharos images --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	cmd.Flags().StringVar(&o.rev, "rev", "", "The revision. The default is HEAD")
	cmd.Flags().BoolVar(&o.check, "check", false, "Look for what is declared wrongly")
	return cmd
}

func (o *imagesOptions) run(ctx context.Context) error {
	if err := o.output.check(); err != nil {
		return err
	}
	_, commit, err := o.commit(ctx, o.rev)
	if err != nil {
		return err
	}
	if o.check {
		return o.runCheck(ctx, commit.Tree)
	}
	c, err := catalogue.Load(ctx, commit.Tree)
	if err != nil {
		return &lifecycle.Error{Op: "read", On: catalogue.FileName, Class: lifecycle.ErrSource, Err: err}
	}
	states, statesErr := c.States(ctx, commit.Tree)
	if err := o.printImages(states); err != nil {
		return err
	}
	if statesErr != nil {
		return errors.Join(lifecycle.ErrSource, statesErr)
	}
	return nil
}

type imageFields struct {
	Fingerprint catalogue.Fingerprint `json:"fingerprint,omitempty"`
	Tree        string                `json:"tree,omitempty"`
	Builder     string                `json:"builder"`
	Files       int                   `json:"files"`
	Platforms   []string              `json:"platforms"`
}

func (o *imagesOptions) printImages(states []catalogue.State) error {
	if o.output.human() {
		var rows [][]any
		for _, st := range states {
			rows = append(rows, []any{st.Image.Name, st.Image.Build.Kind(), st.Files, string(st.Fingerprint), string(st.Inputs.ID)})
		}
		return o.output.table(o.Out, []column{{name: "Name"}, {name: "Builder"}, {name: "Files"}, {name: "Fingerprint"}, {name: "Tree", wide: true}}, rows)
	}
	var items []object
	for _, st := range states {
		item, err := newObject("Image", st.Image.Name, imageFields{
			Fingerprint: st.Fingerprint, Tree: string(st.Inputs.ID), Builder: st.Image.Build.Kind(), Files: st.Files, Platforms: st.Image.Platforms,
		})
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	return o.output.printList(o.Out, "ImageList", items)
}
