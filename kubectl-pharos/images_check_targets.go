package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/strictyaml"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

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
	findings = append(findings, noBuildKit(c, targets)...)
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

// noBuildKit finds the images that no target can build: one of several targets may
// do with what another one has built.
func noBuildKit(c *catalogue.Catalogue, targets []standard.Target) []catalogue.Finding {
	var findings []catalogue.Finding
	for _, image := range c.Images {
		builds := func(t standard.Target) bool { return standard.Builds(image.Build.Kind(), t) }
		if len(targets) > 0 && !slices.ContainsFunc(targets, builds) {
			findings = append(findings, catalogue.Finding{Image: image.Name, Path: catalogue.FileName, Message: "no target names a BuildKit, which builds from a Dockerfile: write spec.buildkit"})
		}
	}
	return findings
}

// checkOverlay renders a target's overlay with digests that stand for those of the
// images, and finds what would keep it from being delivered.
func checkOverlay(ctx context.Context, tree source.Tree, c *catalogue.Catalogue, t standard.Target) ([]catalogue.Finding, error) {
	request := lifecycle.RenderRequest{Tree: tree, Overlay: t.Overlay}
	for _, image := range c.Images {
		request.Images = append(request.Images, lifecycle.ImageRef{
			Name: image.Name, Repository: detect.NoRegistry + "/" + image.Name, Digest: lifecycle.Digest("sha256:" + strings.Repeat("0", 64)),
			Artifact: image.Build.Artifact(),
		})
	}
	rendering, err := render.New().Render(ctx, request)
	if err == nil {
		return append(lookAlikes(t, rendering.Findings), notInCatalogue(c, t, rendering.Findings)...), nil
	}
	if !errors.Is(err, lifecycle.ErrSource) {
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

// lookAlikes picks the images of the catalogue in whose place an overlay uses one
// of another registry: that one would be delivered. That an overlay uses an image
// not at all may be meant so.
func lookAlikes(t standard.Target, rendered []lifecycle.Finding) []catalogue.Finding {
	var findings []catalogue.Finding
	for _, f := range rendered {
		name, ok := strings.CutPrefix(f.Subject, "image ")
		if ok && strings.Contains(f.Message, "give both the same name") {
			findings = append(findings, catalogue.Finding{Path: t.Overlay, Message: fmt.Sprintf("overlay %s: image %s %s", t.Overlay, name, f.Message)})
		}
	}
	return findings
}

// bareImage is what a rendering says of an image that is named without a digest, where
// the name is without a registry, a folder and a tag, too.
var bareImage = regexp.MustCompile(`^(.+ uses "([^"/:@]+)"), which may be another image tomorrow`)

// notInCatalogue finds images of an overlay that are called as if the catalogue built
// them, and of which it has none: a slip, or an image that is not declared. It would be
// pulled from elsewhere, at whatever tag is the newest.
func notInCatalogue(c *catalogue.Catalogue, t standard.Target, rendered []lifecycle.Finding) []catalogue.Finding {
	var names []string
	for _, image := range c.Images {
		names = append(names, image.Name)
	}
	var findings []catalogue.Finding
	for _, f := range rendered {
		m := bareImage.FindStringSubmatch(f.Message)
		if m == nil {
			continue
		}
		next := ": declare it in " + catalogue.FileName + ", or name an image of a registry by its digest or a tag"
		if near := strictyaml.Nearest(m[2], names); near != "" {
			next = "; did you mean " + near + "?"
		}
		findings = append(findings, catalogue.Finding{Path: t.Overlay, Message: fmt.Sprintf("overlay %s: %s: %s, which is no image of the catalogue%s", t.Overlay, f.Subject, m[1], next)})
	}
	return findings
}
