package catalogue

import (
	"context"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Class says what a change of a path asks for.
type Class string

// The classes, the strictest first.
const (
	ClassBuild   Class = "build"   // an image has to be built, if its fingerprint says so, and delivered
	ClassDeliver Class = "deliver" // the manifests have to be delivered
	ClassUnknown Class = "unknown" // nothing says what the path is for: deliver, and say so
	ClassNeutral Class = "neutral" // nothing
)

var strictness = map[Class]int{ClassNeutral: 0, ClassUnknown: 1, ClassDeliver: 2, ClassBuild: 3}

// stricter returns the class that asks for more.
func stricter(a, b Class) Class {
	if strictness[a] >= strictness[b] {
		return a
	}
	return b
}

// PathClass is the class of a path that differs between two trees.
type PathClass struct {
	Path  string `json:"path"`
	Class Class  `json:"class"`
	// Images are the names of the images whose inputs hold the path, in the
	// order of the new catalogue, then of the old one; set for ClassBuild. Paths
	// share the slice, so it must not be modified.
	Images []string `json:"images,omitempty"`
}

// Classify compares two trees and classifies every path that differs, in the
// order of source.Diff. Both trees' catalogues are asked and the stricter
// answer counts, as the package comment says; if the old tree's cannot be read,
// no path is neutral. reads are the paths that the last render read, which are
// never neutral either.
//
// The error is the one of Load if the new tree's catalogue cannot be read; it
// matches source.ErrNotFound if an object of a tree is missing, such as all of
// a tree that was never fetched, and source.ErrTooLarge beyond the package
// comment's limits.
func Classify(ctx context.Context, old, new source.Tree, reads []string) ([]PathClass, error) {
	changes, err := source.Diff(ctx, measured(old), measured(new))
	if err != nil {
		return nil, fmt.Errorf("compare the trees %s and %s: %w", old.ID, new.ID, err)
	}
	if len(changes) == 0 {
		return nil, nil
	}
	current, err := Load(ctx, new)
	if err != nil {
		return nil, err
	}
	catalogues := []asked{{current, askImages(current.Images)}}
	least := ClassNeutral
	if slices.ContainsFunc(changes, func(c source.Change) bool { return c.Path == FileName }) {
		previous, err := Load(ctx, old)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			catalogues = append(catalogues, asked{previous, askImages(previous.Images)})
		} else {
			least = ClassUnknown // nobody can say any more what it was for
		}
	}
	read := make(map[string]bool, len(reads))
	for _, path := range reads {
		read[path] = true
	}
	classes := make([]PathClass, len(changes))
	for i, change := range changes {
		classes[i] = PathClass{Path: change.Path, Class: least}
		for _, c := range catalogues {
			classes[i].ask(c, change, read[change.Path])
		}
	}
	return classes, nil
}

// asked is a catalogue that is asked of one change after the other.
type asked struct {
	*Catalogue
	images *askedImages
}

// ask raises the class to what the catalogue says of the change.
func (p *PathClass) ask(c asked, change source.Change, read bool) {
	p.Images = union(p.Images, c.images.reached(change))
	class := ClassUnknown
	switch {
	case len(p.Images) > 0:
		class = ClassBuild
	case read, change.Path == FileName, change.Path == LockFileName, c.Delivery.Match(change.Path):
		class = ClassDeliver
	case c.Neutral.Match(change.Path):
		class = ClassNeutral
	}
	p.Class = stricter(p.Class, class)
}

// union returns the names of both, each once, without changing either.
func union(some, more []string) []string {
	if len(some) == 0 || slices.Equal(some, more) {
		return more
	}
	there := make(map[string]bool, len(some))
	for _, name := range some {
		there[name] = true
	}
	all := slices.Clip(some)
	for _, name := range more {
		if !there[name] {
			all = append(all, name)
		}
	}
	return all
}
