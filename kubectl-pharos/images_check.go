package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/catalogue/inputs"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// runCheck prints what is declared wrongly; its exit code is 1 if anything is.
func (o *imagesOptions) runCheck(ctx context.Context, tree source.Tree) error {
	findings, images, err := checkAll(ctx, tree)
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

// checkTargets finds what is wrong with the Target documents of a pharos.yaml
// whose catalogue is well-formed, and with their overlays.
func checkTargets(ctx context.Context, tree source.Tree, c *catalogue.Catalogue) ([]catalogue.Finding, error) {
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
	said := map[catalogue.Finding]bool{} // targets share bases
	add := func(f catalogue.Finding) {
		if !said[f] {
			said[f] = true
			findings = append(findings, f)
		}
	}
	for _, t := range targets {
		if host, _, _ := strings.Cut(t.Registry.Push, "/"); host == detect.NoRegistry {
			add(catalogue.Finding{Path: catalogue.FileName, Message: fmt.Sprintf(
				"target %s: spec.registry.push: %s stands for a registry that is not known: write yours", t.Name, host)})
		}
		entry, err := tree.Lookup(ctx, t.Overlay)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && entry.Mode != source.ModeDir:
			add(catalogue.Finding{Path: t.Overlay, Message: fmt.Sprintf(
				"target %s: spec.overlay: the tree has no folder %s: correct it", t.Name, t.Overlay)})
			continue
		case err != nil:
			return nil, err
		}
		overlay, err := checkOverlay(ctx, tree, c, t)
		if err != nil {
			return nil, err
		}
		for _, f := range overlay {
			add(f)
		}
	}
	return findings, nil
}

// checkOverlay renders a target's overlay with digests that stand for those of the
// images, and finds what would keep it from being delivered.
func checkOverlay(ctx context.Context, tree source.Tree, c *catalogue.Catalogue, t standard.Target) ([]catalogue.Finding, error) {
	request := lifecycle.RenderRequest{Tree: tree, Overlay: t.Overlay}
	for _, image := range c.Images {
		request.Images = append(request.Images, lifecycle.ImageRef{
			Name: image.Name, Repository: detect.NoRegistry + "/" + image.Name, Digest: lifecycle.Digest("sha256:" + strings.Repeat("0", 64)),
		})
	}
	_, err := render.New().Render(ctx, request)
	if err == nil || !errors.Is(err, lifecycle.ErrSource) {
		return nil, err
	}
	failed, ok := errors.AsType[*lifecycle.Error](err)
	if !ok {
		return nil, err
	}
	problems := []error{failed.Err}
	if joined, ok := failed.Err.(interface{ Unwrap() []error }); ok {
		problems = joined.Unwrap()
	}
	var findings []catalogue.Finding
	for _, problem := range problems {
		f := catalogue.Finding{Path: t.Overlay, Message: problem.Error()}
		if p, ok := errors.AsType[*render.Problem](problem); ok {
			f.Path = p.File
		} else {
			f.Message = fmt.Sprintf("target %s: overlay %s: %s", t.Name, t.Overlay, f.Message)
		}
		if failed.Advice != "" && len(problems) == 1 {
			f.Message += ". " + failed.Advice
		}
		findings = append(findings, f)
	}
	return findings, nil
}

func (o *imagesOptions) printFindings(findings []catalogue.Finding, images int) error {
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
