package sweep

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// coverage keeps a watch for each resource that is to be swept, and knows what is not
// covered. It is safe for concurrent use.
type coverage struct {
	ender *Ender
	store *store
	names []string
	only  string // a namespace, or empty
	every time.Duration
	anew  chan struct{} // holds a token when discovery is to be asked at once

	mu      sync.Mutex
	watches map[string]*watched // by resource
	gaps    []Gap               // of discovery
}

// watched is a resource with its watch.
type watched struct {
	resource Resource
	number   uint16
	stop     func() // and wait
	gap      string // why it is not covered, or empty
}

// notListed is the gap of a resource that the sweep begins with.
const notListed = "its objects are not listed yet"

func newCoverage(e *Ender, s *store, c SweeperConfig) *coverage {
	return &coverage{
		ender: e, store: s, names: c.Resources, only: c.Namespace, every: c.Discover, anew: make(chan struct{}, 1),
		watches: map[string]*watched{}, gaps: []Gap{{What: "discovery", Why: "it has not answered yet"}},
	}
}

// keep keeps the watches until ctx ends, and returns when they have.
func (c *coverage) keep(ctx context.Context) {
	for ctx.Err() == nil {
		all, stale, err := c.ender.discover(ctx)
		if err != nil {
			c.undiscovered(err)
		} else {
			chosen, gaps := choose(c.names, all, stale)
			c.update(ctx, chosen, gaps, stale)
		}
		select {
		case <-time.After(c.every):
		case <-c.anew:
		case <-ctx.Done():
		}
	}
	for _, w := range c.running() {
		w.stop()
	}
}

// undiscovered takes over that nobody knows what there is: nothing is absent for that.
func (c *coverage) undiscovered(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = []Gap{{What: "discovery", Why: err.Error()}}
}

// update starts and ends watches. Resources of groups that do not answer stay.
func (c *coverage) update(ctx context.Context, chosen []Resource, gaps []Gap, stale []schema.GroupVersion) {
	c.mu.Lock()
	c.gaps = gaps
	c.mu.Unlock()
	for _, w := range c.running() {
		unknown := slices.ContainsFunc(stale, func(gv schema.GroupVersion) bool { return gv.Group == w.resource.Group })
		if !slices.Contains(chosen, w.resource) && !unknown {
			w.stop()
			c.store.unwatched(w.number)
			c.mu.Lock()
			delete(c.watches, w.resource.String())
			c.mu.Unlock()
		}
	}
	for _, r := range chosen {
		if c.only == "" || r.Namespaced || r.isNamespaces() {
			c.watch(ctx, r)
		}
	}
}

// watch watches a resource that is not watched yet.
func (c *coverage) watch(ctx context.Context, r Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches[r.String()] != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	w := &watched{resource: r, number: c.free(), gap: notListed, stop: func() { cancel(); <-done }}
	follow := &watcher{
		ender: c.ender, store: c.store, resource: r, namespace: c.only, selector: c.ender.selector(), from: source{watch: w.number},
		report: func(err error) { c.report(w, err) },
	}
	c.watches[r.String()] = w
	go func() { defer close(done); follow.run(ctx) }()
}

// free is the first number that no watch has.
func (c *coverage) free() (n uint16) {
	taken := map[uint16]bool{}
	for _, w := range c.watches {
		taken[w.number] = true
	}
	for taken[n] {
		n++
	}
	return n
}

// report takes over whether a resource is covered.
func (c *coverage) report(w *watched, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := w.gap
	w.gap = ""
	log := c.ender.config.Log
	switch {
	case err != nil:
		w.gap = err.Error()
		if kubeclient.NotFound(err) || kubeclient.Refused(err) {
			c.look()
		}
		if was == "" || was == notListed {
			log.Warn("objects are not seen", "resource", w.resource.String(), "err", err)
		}
	case was != "" && was != notListed:
		log.Info("objects are seen again", "resource", w.resource.String())
	}
}

// look has discovery asked soon.
func (c *coverage) look() {
	select {
	case c.anew <- struct{}{}:
	default:
	}
}

func (c *coverage) running() []*watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*watched, 0, len(c.watches))
	for _, w := range c.watches {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *watched) int { return cmp.Compare(a.resource.String(), b.resource.String()) })
	return list
}

// resource is that of a watch, unless it has ended.
func (c *coverage) resource(number uint16) (Resource, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		if w.number == number {
			return w.resource, true
		}
	}
	return Resource{}, false
}

// missing are the gaps.
func (c *coverage) missing() []Gap {
	c.mu.Lock()
	defer c.mu.Unlock()
	gaps := slices.Clone(c.gaps)
	for _, w := range c.watches {
		if w.gap != "" {
			gaps = append(gaps, Gap{w.resource.String(), w.gap})
		}
	}
	slices.SortFunc(gaps, func(a, b Gap) int { return strings.Compare(a.What, b.What) })
	return gaps
}
