package catalogue

import (
	"fmt"
	"slices"
	"strings"
)

// basis is what an image is built on, as its recipe has it.
type basis struct {
	frontend string // of a Dockerfile; may be empty
	// bases are the references in the order of their first use: one list for
	// all platforms, or one for each.
	bases []basesOf
	// triggers are what an image that is built on it would take from others.
	triggers []trigger
}

// trigger is an ONBUILD instruction that takes files from an image.
type trigger struct{ at, instruction string }

type basesOf struct {
	platform string // empty if it is for all
	refs     []string
}

// references returns all references, sorted, each once.
func (b *basis) references() []string {
	var all []string
	if b.frontend != "" {
		all = append(all, b.frontend)
	}
	for _, of := range b.bases {
		all = append(all, of.refs...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// basisOf returns what a Go program is put on.
func (b *GoBuild) basis() basis {
	if b.base() == Scratch {
		return basis{}
	}
	return basis{bases: []basesOf{{refs: []string{b.Base}}}}
}

// UnlockedError is returned for an image that is built on what may change
// without the tree: references that are not by digest and whose digest is not in
// pharos.lock. It matches ErrUnlocked.
type UnlockedError struct {
	References []string // as written, sorted
}

func (e *UnlockedError) Error() string {
	return fmt.Sprintf("is built on %s, whose digest is in neither the recipe nor %s: %s", strings.Join(e.References, ", "), LockFileName, runLock)
}

// Is says whether target is ErrUnlocked.
func (e *UnlockedError) Is(target error) bool { return target == ErrUnlocked }

// DependencyError is returned for an image that is built on others which have
// no fingerprint themselves.
type DependencyError struct {
	Images []string // their names, sorted
}

func (e *DependencyError) Error() string {
	return "is built on " + strings.Join(e.Images, ", ") + ", of which there is no fingerprint: correct what is wrong there first"
}

// CycleError is returned for an image that is built on itself, through others
// or directly.
type CycleError struct {
	// Images are the names of the images on the way round, each built on the
	// next one and the last one on the first.
	Images []string
}

// maxCycle is how many images of a cycle are printed.
const maxCycle = 100

func (e *CycleError) Error() string {
	if len(e.Images) == 1 {
		return fmt.Sprintf("is built on itself: %[1]s → %[1]s; write the base with its tag or registry if it is another image", e.Images[0])
	}
	way := e.Images
	if len(way) > maxCycle {
		way = append(slices.Clone(way[:maxCycle]), fmt.Sprintf("… %d more", len(e.Images)-maxCycle))
	}
	return fmt.Sprintf("is built on itself: %s → %s", strings.Join(way, " → "), way[0])
}
