package catalogue

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/joined"
)

var (
	// ErrUnsupported is matched by the error of an image whose kind of build
	// is none that this version knows.
	ErrUnsupported = errors.New("not supported by this version")
	// ErrUnlocked is matched by an *UnlockedError.
	ErrUnlocked = errors.New("a base image is not named by digest")
)

// ImageError is the error of one image.
type ImageError struct {
	Image string // its name
	Err   error
}

func (e *ImageError) Error() string {
	var lines []string
	for _, err := range joined.Errors(e.Err) {
		lines = append(lines, "image "+e.Image+": "+err.Error())
	}
	return strings.Join(lines, "\n")
}

func (e *ImageError) Unwrap() error { return e.Err }

// InputError is returned for a file that an image's recipe needs and its inputs
// do not hold.
type InputError struct {
	Path   string // from the root of the tree
	Reason string
}

func (e *InputError) Error() string { return e.Path + " " + e.Reason }

// States computes the fingerprints of all images at a tree, several at once.
// Together with the catalogue that Load reads from the same tree they are a
// pure function of it: what references stand for is read from the tree's own
// pharos.lock.
//
// If some images have no fingerprint, States returns the others, in the
// catalogue's order, with an error that holds an *ImageError for each that has
// none: FailedImages picks them out. These match what Prune returns, or hold an
// *InputError, what is wrong with a Dockerfile (see catalogue/dockerfile), an
// *UnlockedError, a *TriggerError, a *DependencyError or a *CycleError; all that is wrong with an
// image is reported at once. There are no states if pharos.lock cannot be read,
// with the error of LoadLock; if all images together take more than the package
// comment's limits, with a *TooLargeError; and when ctx ends, with an error that
// matches ctx's.
func (c *Catalogue) States(ctx context.Context, tree source.Tree) ([]State, error) {
	return c.states(ctx, tree, c.every())
}

// StatesOf is States for the images of these names only, and for those that they
// are built on. A name that no image has is passed over.
func (c *Catalogue) StatesOf(ctx context.Context, tree source.Tree, images ...string) ([]State, error) {
	var wanted []int
	for i := range c.Images {
		if slices.Contains(images, c.Images[i].Name) {
			wanted = append(wanted, i)
		}
	}
	return c.states(ctx, tree, wanted)
}

func (c *Catalogue) states(ctx context.Context, tree source.Tree, wanted []int) ([]State, error) {
	r, err := c.recall(ctx, tree, wanted)
	if r == nil && err == nil {
		r, err = c.look(ctx, newWalker(tree.Objects), tree, wanted)
	}
	if err != nil {
		return nil, err
	}
	states := make([]State, 0, len(r.all))
	var errs []error
	for i := range r.all {
		if !r.all[i].wanted {
			continue
		}
		if err := r.all[i].err; err != nil {
			errs = append(errs, &ImageError{Image: c.Images[i].Name, Err: err})
			continue
		}
		states = append(states, r.all[i].State)
	}
	return states, errors.Join(errs...)
}

// every returns the places of all images.
func (c *Catalogue) every() []int {
	all := make([]int, len(c.Images))
	for i := range all {
		all[i] = i
	}
	return all
}

// look computes what there is to know of the images at these places, and of those
// that they are built on, several at once.
func (c *Catalogue) look(ctx context.Context, w *walker, tree source.Tree, wanted []int) (*resolver, error) {
	lock, err := LoadLock(ctx, tree)
	if err != nil {
		return nil, err
	}
	r := &resolver{lock: lock, names: c.names(), all: make([]candidate, len(c.Images))}
	for len(wanted) > 0 {
		var g errgroup.Group
		var next atomic.Int64
		// A goroutine for each image would have to grow its stack each time.
		for range min(len(wanted), max(2, runtime.GOMAXPROCS(0))) {
			g.Go(func() error {
				for at := next.Add(1) - 1; at < int64(len(wanted)); at = next.Add(1) - 1 {
					i := wanted[at]
					r.all[i] = c.Images[i].look(ctx, w, tree.ID)
					if err := errors.Join(ctx.Err(), w.exhausted()); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		wanted = r.missing(wanted)
	}
	r.finish()
	return r, nil
}

// FailedImages returns the *ImageErrors that an error of States holds, in the
// catalogue's order; none if the error is not about single images.
func FailedImages(err error) []*ImageError {
	if e, ok := err.(*ImageError); ok {
		return []*ImageError{e}
	}
	var failed []*ImageError
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			failed = append(failed, FailedImages(err)...)
		}
	case interface{ Unwrap() error }:
		failed = FailedImages(e.Unwrap())
	}
	return failed
}

// look cuts the image's inputs out of the tree and reads its recipe there.
func (i *Image) look(ctx context.Context, w *walker, root source.ID) candidate {
	c := candidate{State: State{Image: *i}, wanted: true, unread: true}
	if c.Inputs, c.Files, c.err = w.prune(ctx, root, i.Inputs); c.err != nil {
		return c
	}
	if w.recallRecipe(&c) {
		return c
	}
	var err error
	whole := source.Tree{ID: root, Objects: w}
	c.toolchain, c.err = i.checkRecipe(ctx, whole, c.Inputs, &w.modules)
	c.basis, err = i.basis(ctx, whole, &w.dockerfiles)
	c.err, c.unread = errors.Join(c.err, err), err != nil
	if c.err == nil {
		w.keepRecipe(&c)
	}
	return c
}
