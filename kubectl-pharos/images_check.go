package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/inputs"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// runCheck prints what is declared wrongly; its exit code is 1 if anything is.
func (o *imagesOptions) runCheck(ctx context.Context, tree source.Tree) error {
	findings, err := checkAll(ctx, tree)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, known := errors.AsType[*lifecycle.Error](err); err != nil && !known {
		err = &lifecycle.Error{Op: "check", On: catalogue.FileName, Class: lifecycle.ErrSource, Err: err}
	}
	if err != nil {
		return err
	}
	if err := o.printFindings(findings); err != nil {
		return err
	}
	if len(findings) > 0 {
		return errNotSo
	}
	return nil
}

// checkAll returns what is to be said of a tree's pharos.yaml: of the catalogue
// by itself, of its inputs beside what the recipes read, and of the targets.
func checkAll(ctx context.Context, tree source.Tree) ([]catalogue.Finding, error) {
	c, err := catalogueOf(ctx, tree)
	if err != nil {
		return nil, err
	}
	own, err := catalogue.Check(ctx, tree)
	if err != nil {
		return nil, err
	}
	compared, err := inputs.Check(ctx, tree, inputs.Config{Env: os.Environ()})
	if err != nil {
		return nil, err
	}
	targets, err := checkTargets(ctx, tree)
	return slices.Concat(byImage(c, own, compared), targets), err
}

// byImage puts all findings on an image together, in the catalogue's order, and
// those on no image behind them. What is said of a path by the first list need
// not be said again.
func byImage(c *catalogue.Catalogue, first, second []catalogue.Finding) []catalogue.Finding {
	var all []catalogue.Finding
	take := func(image string) {
		said := map[string]bool{}
		for _, f := range first {
			if f.Image == image {
				said[f.Path] = true
				all = append(all, f)
			}
		}
		for _, f := range second {
			if f.Image == image && (f.Path == "" || !said[f.Path]) {
				all = append(all, f)
			}
		}
	}
	for _, image := range c.Images {
		take(image.Name)
	}
	take("")
	return all
}

// checkTargets finds what is wrong with the Target documents of a pharos.yaml
// whose catalogue is well-formed.
func checkTargets(ctx context.Context, tree source.Tree) ([]catalogue.Finding, error) {
	var findings []catalogue.Finding
	targets, err := standard.ReadTargets(ctx, tree)
	if problems, ok := errors.AsType[*catalogue.ProblemsError](err); ok {
		for _, p := range problems.List {
			findings = append(findings, catalogue.Finding{Path: catalogue.FileName, Message: p.Error()})
		}
		return findings, nil
	}
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		entry, err := tree.Lookup(ctx, t.Overlay)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && entry.Mode != source.ModeDir:
			findings = append(findings, catalogue.Finding{Path: t.Overlay, Message: fmt.Sprintf(
				"target %s: spec.overlay: the tree has no folder %s: correct it", t.Name, t.Overlay)})
		case err != nil:
			return nil, err
		}
	}
	return findings, nil
}

func (o *imagesOptions) printFindings(findings []catalogue.Finding) error {
	if !o.output.human() {
		var items []object
		for _, f := range findings {
			item, err := newObject("Finding", cmp.Or(f.Image, catalogue.FileName), f)
			if err != nil {
				return err
			}
			items = append(items, item)
		}
		return o.output.printList(o.Out, "FindingList", items)
	}
	if len(findings) == 0 {
		linef(o.Out, "%s is as it should be", catalogue.FileName)
		return nil
	}
	for _, f := range findings {
		linef(o.Out, "%s", f)
	}
	return nil
}
