package sweep

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/reaper"
)

// passing is one pass.
type passing struct {
	ender     *Ender
	tally     *tally
	namespace string // the only one; all of them if empty
	leftovers []leftover

	mu sync.Mutex
	// undecided are the namespaces that are past their end and being looked into.
	undecided map[string]bool
}

// leftover is what a list left of a resource in a namespace that was undecided.
type leftover struct {
	part      *part
	resource  Resource
	namespace string
	n         int
}

// run passes over the resources, of which namespaces come first. It returns when all
// that it has begun has ended.
func (p *passing) run(ctx context.Context, resources []Resource) {
	var looks sync.WaitGroup
	defer looks.Wait()
	for _, r := range resources {
		switch {
		case ctx.Err() != nil:
			return
		case r.isNamespaces():
			due := p.overNamespaces(ctx, r)
			looks.Go(func() { due.end(ctx) })
		case p.namespace == "" || r.Namespaced:
			p.over(ctx, r)
		}
	}
	looks.Wait()
	for _, later := range p.leftovers {
		if ctx.Err() != nil {
			return
		}
		p.overLeftover(ctx, later)
	}
}

// over looks at all objects of a resource, but for those in namespaces that are
// undecided now.
func (p *passing) over(ctx context.Context, r Resource) {
	part := p.tally.begin(r)
	p.mu.Lock()
	undecided := maps.Clone(p.undecided)
	p.mu.Unlock()
	waiting := map[string]int{}
	p.list(ctx, part, passList{
		listing: listing{resource: r, namespace: p.namespace, again: func() { clear(waiting) }},
		postpone: func(o reaper.Object) bool {
			waits := undecided[o.Namespace] && !p.refused(o) // which is told in any case
			if waits {
				waiting[o.Namespace]++
			}
			return waits
		},
	})
	for _, ns := range slices.Sorted(maps.Keys(waiting)) {
		p.leftovers = append(p.leftovers, leftover{part, r, ns, waiting[ns]})
	}
}

// overLeftover looks at what was left, now that its namespace is decided.
func (p *passing) overLeftover(ctx context.Context, later leftover) {
	if p.tally.ends(later.namespace) {
		later.part.covered(later.n)
		return
	}
	part := p.tally.begin(later.resource)
	p.list(ctx, part, passList{
		listing:  listing{resource: later.resource, namespace: later.namespace, again: func() {}},
		postpone: p.refused, // which was told
	})
}

// dueNamespaces are namespaces to end: who they are, and no more.
type dueNamespaces struct {
	*passing
	part *part
	due  []reaper.Object
}

// overNamespaces looks at all namespaces, and returns those that are to end.
func (p *passing) overNamespaces(ctx context.Context, r Resource) *dueNamespaces {
	d := &dueNamespaces{passing: p, part: p.tally.begin(r)}
	p.list(ctx, d.part, passList{
		listing: listing{resource: r, name: p.namespace, again: func() { d.due = nil }},
		end: func(o reaper.Object) {
			d.due = append(d.due, reaper.Object{Group: o.Group, Kind: o.Kind, Name: o.Name, UID: o.UID})
		},
	})
	for _, o := range d.due {
		p.undecided[o.Name] = true
	}
	return d
}

// end ends them, several at once.
func (d *dueNamespaces) end(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(2 * maxLooks) // while some record Events, others look
	for _, o := range d.due {
		g.Go(func() error {
			d.ended(ctx, d.part, namespaces, o)
			d.mu.Lock()
			defer d.mu.Unlock()
			delete(d.undecided, o.Name)
			return nil
		})
	}
	_ = g.Wait()
}

// passList is one list of a pass.
type passList struct {
	listing
	// end is called for what is past its end, by one goroutine; nil ends it.
	end func(reaper.Object)
	// postpone says that an object is no matter of this list; nil postpones none.
	postpone func(reaper.Object) bool
}

// list looks at all objects of a list, and returns when what was to end has.
func (p *passing) list(ctx context.Context, part *part, l passList) {
	var g errgroup.Group
	g.SetLimit(p.ender.config.ConcurrentDeletes)
	if l.end == nil {
		l.end = func(o reaper.Object) {
			g.Go(func() error { p.ended(ctx, part, l.resource, o); return nil })
		}
	}
	again := l.again
	l.selector, l.resume = p.ender.selector(), true
	l.again = func() {
		_ = g.Wait() // what was to end is counted as ended
		part.again()
		again()
	}
	l.each = func(o reaper.Object) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.meet(ctx, part, l, o, g.Go)
		return nil
	}
	err := errors.Join(p.ender.list(ctx, l.listing), g.Wait())
	if err != nil && ctx.Err() == nil {
		p.tally.gap(Gap{l.resource.String(), err.Error()})
	}
}

// decide is what becomes of an object by what it says.
func (p *passing) decide(o reaper.Object) Result {
	d := p.ender.config.Rules.Decide(o, p.ender.clock.Now())
	return Result{Object: o, Decision: d, Outcome: outcomeOf[d.Verdict]}
}

// refused says that an object says of itself that it is for a person to look at.
func (p *passing) refused(o reaper.Object) bool { return p.decide(o).Decision.Verdict == reaper.Refuse }

// meet judges an object of a list. What is to be done about it is done meanwhile.
func (p *passing) meet(ctx context.Context, part *part, l passList, o reaper.Object, start func(func() error)) {
	e, r, res := p.ender, l.resource, p.decide(o)
	switch {
	case res.Decision.Reason == reaper.NoIntent:
	case res.Decision.Verdict != reaper.Refuse && p.tally.ends(o.Namespace):
		part.seen(Item{r, withNamespace(res), nil})
	case l.postpone != nil && l.postpone(o):
	case res.Decision.Verdict == reaper.Delete:
		l.end(o)
	case e.toNotify(res):
		start(func() error {
			told, err := e.Notify(ctx, r, o.Namespace, o.Name, o.UID)
			if err == nil && told.Outcome != "" { // without one it is past its end meanwhile
				res = told
			} else if err != nil && ctx.Err() == nil {
				part.find(Item{r, res, err}, Failed, err.Error())
			}
			part.seen(Item{r, res, nil})
			return nil
		})
	case res.Decision.Reason == reaper.Terminating && e.clock.Now().Sub(o.Deleted) > e.config.StuckAfter:
		part.find(Item{r, res, nil}, Stuck, stuck(o, e.clock.Now()))
		part.seen(Item{r, res, nil})
	default:
		part.seen(Item{r, res, nil})
	}
}

// ended ends an object, and counts what became of it.
func (p *passing) ended(ctx context.Context, part *part, r Resource, o reaper.Object) {
	res, err := p.ender.End(ctx, r, o.Namespace, o.Name, o.UID)
	if err != nil {
		res.Outcome, res.Object = "", o
	}
	part.ended(Item{r, res, err})
}
