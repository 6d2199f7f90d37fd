package catalogue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/joined"
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

// Check looks for what is probably a mistake in a tree's pharos.yaml and
// pharos.lock:
//
//   - a pattern of inputs or delivery that matches nothing. One that excludes by
//     wildcards may, since it keeps out what may come, and so may those of
//     neutral: where one is wrong, a path is unknown and is delivered. The go.sum
//     of a module that requires nothing need not be there either
//   - a pattern that later ones override everywhere
//   - an image that has no fingerprint
//   - a build.go.package that is no main package, or a Dockerfile that the tree
//     does not have: then nothing else is said of the image
//   - inputs that lack the image's own Go package, its go.mod or the go.sum that
//     it needs, or its own Dockerfile
//   - inputs that have the file of a run.envFile, of which nothing belongs into an
//     image
//   - inputs whose paths differ by case only, which not every machine can hold
//   - a Go toolchain that only a go line declares, or that is older than the go
//     line
//   - a locked reference that no image uses
//
// The findings come in the catalogue's order, then those on delivery, neutral
// and pharos.lock. The error is the one of Load or LoadLock, a *TooLargeError
// beyond the package comment's limits, or says what could not be read.
func Check(ctx context.Context, tree source.Tree) ([]Finding, error) {
	c, err := Load(ctx, tree)
	if err != nil {
		return nil, err
	}
	w := newWalker(tree.Objects)
	collide, err := collisions(ctx, source.Tree{ID: tree.ID, Objects: w})
	if err != nil {
		return nil, err
	}
	r, err := c.look(ctx, w, tree, c.every())
	if err != nil {
		return nil, err
	}
	check := checker{walker: w, tree: source.Tree{ID: tree.ID, Objects: w}, collide: collide, envFiles: c.envFiles()}
	var findings []Finding
	for i := range r.all {
		mine, err := check.image(ctx, &r.all[i])
		if err != nil {
			return nil, fmt.Errorf("check image %s: %w", c.Images[i].Name, err)
		}
		for _, f := range mine {
			f.Image = c.Images[i].Name
			findings = append(findings, f)
		}
	}
	delivery, err := checkPatterns(ctx, check.tree, "delivery", c.Delivery, keepsOut)
	if err != nil {
		return nil, err
	}
	neutral, err := checkPatterns(ctx, check.tree, "neutral", c.Neutral, func(*pattern) bool { return true })
	if err != nil {
		return nil, err
	}
	return slices.Concat(findings, delivery, neutral, r.checkLock()), nil
}

// checker checks the images of one tree.
type checker struct {
	*walker
	tree     source.Tree
	collide  []collision
	envFiles []string // those of all images
}

func (k *checker) image(ctx context.Context, c *candidate) ([]Finding, error) {
	own, wrong, err := checkOwn(ctx, k.tree, c.Image)
	if err != nil || wrong {
		return own, err
	}
	sums, err := readSums(ctx, k.tree, c.Image)
	if err != nil {
		return nil, err
	}
	findings, err := checkPatterns(ctx, k.tree, "inputs", c.Image.Inputs, func(p *pattern) bool { return keepsOut(p) || sums.literally(p) })
	if err != nil {
		return nil, err
	}
	cases, err := k.checkCase(ctx, c.Image.Inputs, k.collide)
	if err != nil {
		return nil, err
	}
	findings = slices.Concat(findings, cases, own, checkEnvFiles(c.Image.Inputs, k.envFiles))
	if c.err != nil {
		return append(slices.Concat(findings, sums.check(c.Image)), checkFailed(c.err, findings)...), nil
	}
	module, err := checkModule(ctx, k.tree, c.State)
	return slices.Concat(findings, module, sums.check(c.Image)), err
}

// checkLock finds what is locked without need, if it is known what all images
// are built on.
func (r *resolver) checkLock() []Finding {
	used := map[string]bool{}
	for i := range r.all {
		if r.all[i].unread {
			return nil
		}
		for _, ref := range r.all[i].basis.references() {
			used[ref] = !r.own(ref)
		}
	}
	var findings []Finding
	for _, ref := range slices.Sorted(maps.Keys(r.lock.Images)) {
		if !used[ref] {
			findings = append(findings, Finding{Path: LockFileName, Message: fmt.Sprintf("%s: %q is used by no image: %s", LockFileName, ref, runLock)})
		}
	}
	return findings
}

// checkFailed says why an image has no fingerprint, and leaves out what the
// findings say already.
func checkFailed(err error, said []Finding) []Finding {
	var findings []Finding
	for _, err := range joined.Errors(err) {
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
