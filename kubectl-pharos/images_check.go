package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/inputs"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// runCheck prints what is declared wrongly; its exit code is 1 if anything is.
func (o *imagesOptions) runCheck(ctx context.Context, tree source.Tree) error {
	findings, images, err := checkAll(ctx, tree)
	if err == nil && o.bases {
		var moved []catalogue.Finding
		moved, err = o.movedBases(ctx, tree)
		findings = append(findings, moved...)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, known := errors.AsType[*lifecycle.Error](err); err != nil && !known {
		err = &lifecycle.Error{Op: "check", On: catalogue.FileName, Class: lifecycle.ErrSource, Err: err}
	}
	if err != nil {
		return err
	}
	if err := o.printFindings(findings, images); err != nil {
		return err
	}
	if len(findings) > 0 {
		return errNotSo
	}
	return nil
}

// checkAll returns what is to be said of a tree's pharos.yaml: of the catalogue
// by itself, of its inputs beside what the recipes read, and of the targets; and
// how many images there are.
func checkAll(ctx context.Context, tree source.Tree) (findings []catalogue.Finding, images int, err error) {
	c, err := catalogueOf(ctx, tree)
	if err != nil {
		return nil, 0, err
	}
	own, err := catalogue.Check(ctx, tree)
	if err != nil {
		return nil, 0, err
	}
	compared, err := inputs.Check(ctx, tree, inputs.Config{Env: os.Environ()})
	if err != nil {
		return nil, 0, err
	}
	targets, err := checkTargets(ctx, tree, c)
	return slices.Concat(byImage(c, own, compared), targets), len(c.Images), err
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

func (o *imagesOptions) printFindings(findings []catalogue.Finding, images int) error {
	if !o.output.human() {
		name := func(f catalogue.Finding) string { return cmp.Or(f.Image, catalogue.FileName) }
		if o.output.format() == "name" { // the same, however many there are of an image
			findings = slices.CompactFunc(slices.Clone(findings), func(a, b catalogue.Finding) bool { return name(a) == name(b) })
		}
		var items []object
		for _, f := range findings {
			item, err := newObject("Finding", name(f), f)
			if err != nil {
				return err
			}
			items = append(items, item)
		}
		return o.output.printList(o.Out, "FindingList", items)
	}
	switch {
	case len(findings) == 0 && images == 0:
		linef(o.Out, "%s is as it should be, and has no images", catalogue.FileName)
	case len(findings) == 0:
		linef(o.Out, "%s is as it should be", catalogue.FileName)
	}
	for _, line := range folded(findings) {
		linef(o.Out, "%s", line)
	}
	return nil
}

// folded says what is the same of several images once, where it is said first.
func folded(findings []catalogue.Finding) []string {
	images := map[string][]string{} // by message
	for _, f := range findings {
		if f.Image != "" {
			images[f.Message] = append(images[f.Message], f.Image)
		}
	}
	var lines []string
	for _, f := range findings {
		names := images[f.Message]
		switch {
		case f.Image == "" || len(names) == 1:
			lines = append(lines, f.String())
		case names[0] == f.Image && !slices.Contains(lines, line(names, f)):
			lines = append(lines, line(names, f))
		}
	}
	return lines
}

func line(images []string, f catalogue.Finding) string {
	return "images " + strings.Join(images, ", ") + ": " + f.Message
}
