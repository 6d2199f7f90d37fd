package lock

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Resolver asks registries. Implementations are safe for concurrent use. In this
// module it is [github.com/pharos-dev/pharos/lifecycle/registry.Registry].
type Resolver interface {
	// Resolve returns the digest that a reference leads to now. The error
	// matches lifecycle.ErrImageNotFound if it leads nowhere.
	Resolve(ctx context.Context, reference string) (lifecycle.Digest, error)
	// Lacks returns which of the platforms, "linux/arm64", the image behind a
	// reference by digest is not there for.
	Lacks(ctx context.Context, reference string, platforms []string) ([]string, error)
}

// Options say what to ask for.
type Options struct {
	// Resolver is asked. Required.
	Resolver Resolver
	// All has every reference asked for. The default is those alone that the
	// lock does not hold.
	All bool
	// References are asked for, beside those that the lock does not hold. One
	// that no image uses is an *UnusedError.
	References []string
	// More are references that are in use beside those of the images, each with what
	// uses it, such as "target devbox". The default is none.
	More map[string][]string
	// Anew takes a pharos.lock that cannot be read for an empty one. The default
	// is an error that says what is wrong with it.
	Anew bool
	// Jobs is how many references are asked for at once. The default is 16.
	Jobs int
	// Timeout is how long the answer for one reference may take; it fails then
	// with an error that matches lifecycle.ErrUnreachable. The default is for
	// ever: until ctx ends.
	Timeout time.Duration
	// Progress is called after each answer, from one goroutine at a time, with
	// how many there are and how many there will be. It may be nil.
	Progress func(done, all int)
}

// State says how a reference and its entry in a lock go together.
type State string

// The states of an entry.
const (
	// Unchanged is an entry that stands: it leads to the same image, or was not
	// asked for.
	Unchanged State = "unchanged"
	// Missing is a reference that the lock does not hold.
	Missing State = "missing"
	// Moved is a reference that leads to another image than the lock says.
	Moved State = "moved"
	// Unused is an entry of the lock that no image uses.
	Unused State = "unused"
	// Failed is a reference that has no usable answer: see [Entry].Err.
	Failed State = "failed"
)

// Entry is a reference that the images of a tree use, or that its lock holds.
type Entry struct {
	Reference string // as it is written in the recipes
	State     State
	// Digest is what the reference stands for: what the lock has to hold. It is
	// empty if the entry is unused or failed.
	Digest lifecycle.Digest
	// Previous is what the lock holds, where that is not Digest.
	Previous lifecycle.Digest
	// Images are the names of the images that use it, sorted.
	Images []string
	// Users are what else uses it: those of [Options].More, sorted.
	Users []string
	// Lacks are platforms of those images that Digest is not there for, sorted;
	// known only of what is missing or moved.
	Lacks []string
	// Err says why the entry failed.
	Err error
}

// Compare compares the references that the images of a tree use with the tree's
// own pharos.lock, and asks the registries as the options say.
//
// If references failed, the report holds all of them and the error is a
// *FailedError. All other errors come without a report: they match
// [lifecycle.ErrSource] if pharos.yaml, a Dockerfile or pharos.lock is wrong, and
// ctx's error if ctx ended.
func Compare(ctx context.Context, tree source.Tree, o Options) (*Report, error) {
	c, err := catalogue.Load(ctx, tree)
	if err != nil {
		return nil, sourceError(ctx, "read", catalogue.FileName, err)
	}
	held, err := catalogue.LoadLock(ctx, tree)
	if err != nil && !(o.Anew && unreadable(err)) {
		return nil, sourceError(ctx, "read", catalogue.LockFileName, err)
	}
	r := &Report{held: held, anew: err != nil}
	used, err := c.References(ctx, tree)
	if err != nil {
		// Entries of the images that it does not know would look unused.
		return nil, sourceError(ctx, "find the references of the images", "", err)
	}
	r.Entries = entries(used, o.More, held)
	if err := checkUsed(o.References, r.Entries); err != nil {
		return nil, err
	}
	if err := ask(ctx, r.Entries, needs(c), o); err != nil {
		return nil, err
	}
	return r, r.failures()
}

// entries pairs what is used with what is held, sorted by reference. What is
// held and used stands, as long as nobody asks.
func entries(used []catalogue.Reference, more map[string][]string, held catalogue.Lock) []Entry {
	for reference := range more {
		if !slices.ContainsFunc(used, func(u catalogue.Reference) bool { return u.Reference == reference }) {
			used = append(slices.Clip(used), catalogue.Reference{Reference: reference})
		}
	}
	var all []Entry
	unused := maps.Clone(held.Images)
	for _, u := range used {
		e := Entry{Reference: u.Reference, State: Missing, Images: u.Images, Users: slices.Sorted(slices.Values(more[u.Reference]))}
		if digest, ok := held.Images[u.Reference]; ok {
			e.State, e.Digest = Unchanged, lifecycle.Digest(digest)
		}
		delete(unused, u.Reference)
		all = append(all, e)
	}
	for reference, digest := range unused {
		all = append(all, Entry{Reference: reference, State: Unused, Previous: lifecycle.Digest(digest)})
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Reference, b.Reference) })
	return all
}

// need is what an image needs of what it is built on.
type need struct {
	platforms []string
	strict    bool // the base is put under the image as it is
}

func needs(c *catalogue.Catalogue) map[string]need {
	all := map[string]need{}
	for _, img := range c.Images {
		all[img.Name] = need{platforms: img.Platforms, strict: img.Build.Go != nil}
	}
	return all
}

const defaultJobs = 16

// ask fills in the entries that the options say. Its error is that of ctx.
func ask(ctx context.Context, all []Entry, needs map[string]need, o Options) error {
	var asked []*Entry
	for i := range all {
		e := &all[i]
		if e.State == Missing || e.State == Unchanged && (o.All || slices.Contains(o.References, e.Reference)) {
			asked = append(asked, e)
		}
	}
	var g errgroup.Group
	g.SetLimit(cmp.Or(max(o.Jobs, 0), defaultJobs))
	var mu sync.Mutex
	done := 0
	for _, e := range asked {
		g.Go(func() error {
			e.askWithin(ctx, needs, o)
			mu.Lock()
			defer mu.Unlock()
			if done++; o.Progress != nil && ctx.Err() == nil {
				o.Progress(done, len(asked))
			}
			return nil
		})
	}
	_ = g.Wait() // each entry has its own error
	return context.Cause(ctx)
}

func (e *Entry) askWithin(ctx context.Context, needs map[string]need, o Options) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, &timeoutError{after: o.Timeout})
		defer cancel()
	}
	e.ask(ctx, needs, o.Resolver)
}

func (e *Entry) ask(ctx context.Context, needs map[string]need, from Resolver) {
	digest, err := from.Resolve(ctx, e.Reference)
	switch {
	case err != nil:
		e.fail(err)
		return
	case digest == e.Digest:
		return
	}
	var platforms, strict []string
	for _, name := range e.Images {
		platforms = append(platforms, needs[name].platforms...)
		if needs[name].strict {
			strict = append(strict, needs[name].platforms...)
		}
	}
	slices.Sort(platforms)
	e.Lacks, err = from.Lacks(ctx, e.Reference+"@"+string(digest), slices.Compact(platforms))
	if err != nil {
		e.fail(err)
		return
	}
	if slices.ContainsFunc(e.Lacks, func(p string) bool { return slices.Contains(strict, p) }) {
		e.fail(&PlatformError{Digest: digest, Lacks: e.Lacks})
		return
	}
	if e.State == Unchanged {
		e.State, e.Previous = Moved, e.Digest
	}
	e.Digest = digest
}

func (e *Entry) fail(err error) {
	e.State, e.Previous, e.Digest, e.Err = Failed, e.Digest, "", err
}
