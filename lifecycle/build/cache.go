package build

import (
	"context"
	"errors"
	"sync"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
)

// maxKnown is how many results are remembered.
const maxKnown = 4096

// Verifier says whether a registry has all of an image; a [lifecycle.Registry] is
// one. It must be safe for concurrent use.
type Verifier interface {
	// Verify asks for all that the index of that digest names. The error matches
	// lifecycle.ErrImageNotFound if the repository lacks any of it.
	Verify(ctx context.Context, repository string, digest lifecycle.Digest) (lifecycle.RegistryImage, error)
}

// Cache returns a builder that does not build again what it has built: an image
// of the same fingerprint, for the same repository, in this process. What it
// remembers is never evidence by itself: the registry is asked every time, and
// what it has lost is built again. A registry that cannot be asked is an error.
//
// Of several builds of the same at the same time one builds; the others wait for
// it and have its result, or the error if the inputs are at fault
// ([lifecycle.ErrSource]). After another failure, such as the end of the first
// one's ctx, the next one builds. Those that do not build write no output.
func Cache(b lifecycle.Builder, registry Verifier) lifecycle.Builder {
	return &cache{decorated: decorated{b}, registry: registry, known: map[key]lifecycle.BuildResult{}, running: map[key]*flight{}}
}

type cache struct {
	decorated
	registry Verifier

	mu      sync.Mutex
	known   map[key]lifecycle.BuildResult
	running map[key]*flight
}

type key struct {
	repository  string
	fingerprint catalogue.Fingerprint
}

// errPanicked is the outcome of a build that has not come to one.
var errPanicked = errors.New("the build did not return")

// flight is a build that others may wait for. Its outcome may be read when done
// is closed.
type flight struct {
	done   chan struct{}
	result lifecycle.BuildResult
	err    error
}

func (c *cache) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	k := key{r.Repository, r.State.Fingerprint}
	if k.fingerprint == "" {
		return c.builder.Build(ctx, r) // nothing says what it is built from
	}
	for {
		f, first := c.enter(k)
		if first {
			defer c.leave(k, f)
			f.result, f.err = c.find(ctx, k, r)
			return f.result, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return lifecycle.BuildResult{}, context.Cause(ctx)
		}
		if f.err == nil || errors.Is(f.err, lifecycle.ErrSource) {
			return f.result, f.err
		}
	}
}

// enter returns the build of the key that runs, or a new one.
func (c *cache) enter(k key) (f *flight, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, running := c.running[k]; running {
		return f, false
	}
	f = &flight{done: make(chan struct{}), err: errPanicked}
	c.running[k] = f
	return f, true
}

func (c *cache) leave(k key, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, k)
	if f.err == nil {
		if len(c.known) >= maxKnown {
			for other := range c.known { // one of them: it is built again, no more
				delete(c.known, other)
				break
			}
		}
		c.known[k] = f.result
	}
	close(f.done)
}

// find has what was built, if the registry has it, or builds it.
func (c *cache) find(ctx context.Context, k key, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	c.mu.Lock()
	known, ok := c.known[k]
	c.mu.Unlock()
	if !ok {
		return c.builder.Build(ctx, r)
	}
	_, err := c.registry.Verify(ctx, k.repository, known.Digest)
	switch {
	case err == nil:
		return known, nil
	case !errors.Is(err, lifecycle.ErrImageNotFound):
		return lifecycle.BuildResult{}, err
	}
	c.mu.Lock()
	delete(c.known, k)
	c.mu.Unlock()
	return c.builder.Build(ctx, r)
}
