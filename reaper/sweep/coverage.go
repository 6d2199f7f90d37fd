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

// The gaps that the sweep, and each of its resources, begins with.
const (
	discovery     = "discovery"
	notDiscovered = "it has not answered yet"
	notListed     = "its objects are not listed yet"
)

func newCoverage(e *Ender, s *store, c SweeperConfig) *coverage {
	return &coverage{
		ender: e, store: s, names: c.Resources, only: c.Namespace, every: c.Discover, anew: make(chan struct{}, 1),
		watches: map[string]*watched{}, gaps: []Gap{{What: discovery, Why: notDiscovered}},
	}
}

// keep keeps the watches until ctx ends, and returns when they have.
func (c *coverage) keep(ctx context.Context) {
	for failed := rewatchFirst; ctx.Err() == nil; {
		pause := c.every
		all, stale, err := c.ender.discover(ctx)
		switch {
		case err == nil:
			chosen, gaps := choose(c.names, all, stale)
			c.update(ctx, chosen, gaps, stale)
			failed = rewatchFirst
		case ctx.Err() == nil: // nobody knows what there is: nothing is absent for that
			c.lack([]Gap{{What: discovery, Why: err.Error()}})
			pause, failed = min(failed, pause), min(2*failed, rewatchMost)
		}
		select {
		case <-time.After(pause):
		case <-c.anew:
		case <-ctx.Done():
		}
	}
	for _, w := range c.running() {
		w.stop()
	}
}

// lack takes over the gaps of discovery, and logs which are new and which are closed.
func (c *coverage) lack(gaps []Gap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := c.ender.config.Log
	in := func(gaps []Gap, g Gap) bool {
		return slices.ContainsFunc(gaps, func(other Gap) bool { return other.What == g.What && other.Why != notDiscovered })
	}
	for _, g := range gaps {
		if !in(c.gaps, g) {
			log.Warn("objects are not seen", "resource", g.What, "err", g.Why)
		}
	}
	for _, g := range c.gaps {
		if !in(gaps, g) && g.Why != notDiscovered {
			log.Info("objects are seen again", "resource", g.What)
		}
	}
	c.gaps = gaps
}

// update starts and ends watches. Resources of groups that do not answer stay.
func (c *coverage) update(ctx context.Context, chosen []Resource, gaps []Gap, stale []schema.GroupVersion) {
	c.lack(gaps)
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
