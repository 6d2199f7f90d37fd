package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Finding is something about a catalogue that is not as it should be, although
// it can be used.
type Finding struct {
	Image   string `json:"image,omitempty"`   // the image's name; empty for delivery and neutral
	Pattern string `json:"pattern,omitempty"` // the pattern that it is about
	Path    string `json:"path,omitempty"`    // the path that it is about
	Message string `json:"message"`           // what is wrong and what to do, for a person
}

func (f Finding) String() string {
	if f.Image == "" {
		return f.Message
	}
	return "image " + f.Image + ": " + f.Message
}

// Check looks for what is probably a mistake in a tree's pharos.yaml:
//
//   - a pattern that matches nothing, or that later ones override everywhere
//   - an image that has no fingerprint
//   - inputs that lack the image's own Go package, its go.mod or its go.sum, or
//     its own Dockerfile
//   - inputs whose paths differ by case only, which not every machine can hold
//   - a Go toolchain that only a go line declares
//
// The findings come in the catalogue's order, then those on delivery and
// neutral. The error is the one of Load, a *TooLargeError beyond the package
// comment's limits, or says what could not be read.
func Check(ctx context.Context, tree source.Tree) ([]Finding, error) {
	c, err := Load(ctx, tree)
	if err != nil {
		return nil, err
	}
	paths, err := filePaths(ctx, tree)
	if err != nil {
		return nil, err
	}
	states, err := c.States(ctx, tree)
	failed := FailedImages(err)
	if err != nil && len(failed) == 0 {
		return nil, err
	}
	var findings []Finding
	for _, image := range c.Images {
		mine := checkPatterns("inputs", image.Inputs, paths)
		mine = append(mine, checkCase(image.Inputs, paths)...)
		mine = append(mine, checkOwn(image, paths)...)
		switch {
		case len(states) > 0 && states[0].Image.Name == image.Name:
			more, err := checkModule(ctx, tree, states[0])
			if err != nil {
				return nil, fmt.Errorf("check image %s: %w", image.Name, err)
			}
			mine = append(mine, more...)
			states = states[1:]
		case len(failed) > 0:
			mine = append(mine, checkFailed(failed[0].Err, mine)...)
			failed = failed[1:]
		}
		for _, f := range mine {
			f.Image = image.Name
			findings = append(findings, f)
		}
	}
	findings = append(findings, checkPatterns("delivery", c.Delivery, paths)...)
	return append(findings, checkPatterns("neutral", c.Neutral, paths)...), nil
}

// checkFailed says why an image has no fingerprint, and leaves out what the
// findings say already.
func checkFailed(err error, said []Finding) []Finding {
	var findings []Finding
	for _, err := range leaves(err) {
		f := Finding{Message: err.Error()}
		if e, ok := errors.AsType[*InputError](err); ok {
			f.Path = e.Path
		}
		known := func(other Finding) bool { return f.Path != "" && f.Path == other.Path }
		if !slices.ContainsFunc(said, known) {
			findings = append(findings, f)
		}
	}
	return findings
}

// leaves takes joined errors apart.
func leaves(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, err := range several.Unwrap() {
			all = append(all, leaves(err)...)
		}
		return all
	}
	return []error{err}
}

// filePaths returns the paths of all files of a tree.
func filePaths(ctx context.Context, tree source.Tree) ([]string, error) {
	var paths []string
	bytes := 0
	err := measured(tree).Walk(ctx, func(path string, e source.Entry) error {
		if bytes += len(path); bytes > maxPathBytes {
			return &TooLargeError{What: "bytes of paths", Limit: maxPathBytes}
		}
		if e.Mode != source.ModeDir {
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}
