package sweep

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// sweeping is one run of a Sweeper. What it knows is of this run alone.
type sweeping struct {
	ender    *Ender
	store    *store
	coverage *coverage
	lanes    *lanes
	observed func(Item, time.Duration)
}

func newSweeping(e *Ender, c SweeperConfig) *sweeping {
	s := newStore(e.config)
	return &sweeping{ender: e, store: s, coverage: newCoverage(e, s, c), lanes: newLanes(), observed: c.Observed}
}

// longestSleep is how long nothing is looked at: the server's clock is known better
// with each answer.
const longestSleep = time.Second

// until is how long nothing is to be looked at before the next moment, longestSleep at
// most: what is further off need not be a Duration.
func until(now, next moment) time.Duration {
	if next-now >= moment(longestSleep/time.Microsecond) {
		return longestSleep
	}
	return time.Duration(next-now) * time.Microsecond
}

// run watches and looks at what is due until ctx ends and all has ended.
func (s *sweeping) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.coverage.keep(ctx) })
	s.work(ctx)
}

// work looks at what is due until ctx ends and all looks have.
func (s *sweeping) work(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	due, queued, inNamespaces := make(chan entry), make(chan entry), make(chan entry)
	defer close(due)
	defer close(queued)
	lookers := func(n int, due <-chan entry, look func(entry)) {
		for range n {
			all.Go(func() {
				for e := range due {
					look(e)
				}
			})
		}
	}
	// While some record Events others delete: only that is within the limits.
	lookers(2*s.ender.config.ConcurrentDeletes, due, func(e entry) { s.lanes.leave(e.watch, s.look(ctx, e)) })
	// A look into a namespace may take long: what waits for one keeps nothing else.
	lookers(2*maxLooks, inNamespaces, func(e entry) { s.look(ctx, e) })
	all.Go(func() { queue(queued, inNamespaces) })
	for ctx.Err() == nil {
		now := moment(s.ender.clock.Now().UnixMicro())
		e, is, next := s.store.take(now)
		if is {
			to := due
			if r, _ := s.coverage.resource(e.watch); r.isNamespaces() {
				to = queued
			} else if !s.lanes.enter(e.watch) {
				s.store.put(e.uid, postponed, time.Time{}, s.ender.clock.Now())
				continue
			}
			select {
			case to <- e:
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-time.After(until(now, next)):
		case <-s.store.changed:
		case <-ctx.Done():
		}
	}
}

// queue hands on what it gets, in order, and never has the sender wait. What is left
// when there is no more to get is dropped.
func queue(from <-chan entry, to chan<- entry) {
	defer close(to)
	for waiting := []entry(nil); ; {
		var next chan<- entry
		var first entry
		if len(waiting) > 0 {
			next, first = to, waiting[0]
		}
		select {
		case e, more := <-from:
			if !more {
				return
			}
			waiting = append(waiting, e)
		case next <- first:
			waiting = waiting[1:]
		}
	}
}

// look looks at an object that is due, and puts it back with what it came to.
func (s *sweeping) look(ctx context.Context, e entry) looked {
	r, watched := s.coverage.resource(e.watch)
	switch {
	case !watched:
		s.store.put(e.uid, kept, time.Time{}, s.ender.clock.Now())
		return kept
	case e.class == isTerminating:
		return s.stuck(r, e)
	case s.ender.config.NotifyBefore > 0 && !e.announced && e.due > momentOf(s.ender.clock.Now()):
		return s.announce(ctx, r, e)
	}
	return s.end(ctx, r, e)
}

func (s *sweeping) end(ctx context.Context, r Resource, e entry) looked {
	res, err := s.ender.end(ctx, r, e.namespace.Value(), e.name, e.uid)
	now := s.ender.clock.Now()
	l := lookedAt(res, err)
	s.store.put(e.uid, l, res.Decision.Deadline, now)
	if err != nil && ctx.Err() != nil {
		return l
	}
	o := reaper.Object{Group: r.Group, Kind: r.Kind, Namespace: e.namespace.Value(), Name: e.name, UID: e.uid}
	if err != nil {
		res.Outcome, res.Object = "", o
	}
	var late time.Duration
	if !res.Decision.Deadline.IsZero() {
		late = max(0, now.Sub(res.Decision.Deadline))
	}
	if err == nil {
		s.ender.recordEnd(ctx, r, res)
	}
	s.observed(Item{r, res, err}, late)
	s.log(o, res, err)
	return l
}

func (s *sweeping) log(o reaper.Object, res Result, err error) {
	log := s.ender.config.Log.With("object", o.String())
	switch {
	case err != nil:
		log.Warn("an object could not be ended", "err", err)
	case res.Outcome == Deleted:
		log.Info("deleted", "owner", res.Object.Annotations[keys.Owner], "deadline", reaper.FormatTime(res.Decision.Deadline))
	case res.Outcome == WouldDelete:
		log.Info("would be deleted", "owner", res.Object.Annotations[keys.Owner], "deadline", reaper.FormatTime(res.Decision.Deadline))
	case res.Outcome == Refused:
		log.Warn("it is past its end and stays", "reason", res.Decision.Reason, "message", res.Decision.Message)
	}
}

// lookedAt is what an end came to.
func lookedAt(res Result, err error) looked {
	switch {
	case kubeclient.Transient(err) && !errors.Is(err, errNoDate):
		return unreached
	case err != nil:
		return failed
	case res.Outcome == Gone:
		return gone
	case res.Outcome == Deleted:
		return ended
	case res.Outcome == Waiting:
		return waits
	case res.Outcome == Refused:
		return refused
	}
	return kept
}

func (s *sweeping) announce(ctx context.Context, r Resource, e entry) looked {
	res, err := s.ender.Notify(ctx, r, e.namespace.Value(), e.name, e.uid)
	l := lookedAt(res, err)
	switch {
	case l == waits && momentOf(res.Decision.Deadline) == e.due:
		l = announced
	case err == nil && res.Decision.Verdict == reaper.Delete: // it is due by now
		l, res.Decision.Deadline = waits, s.ender.clock.Now()
	}
	s.store.put(e.uid, l, res.Decision.Deadline, s.ender.clock.Now())
	if err != nil && ctx.Err() == nil {
		s.ender.config.Log.Warn("the end of an object could not be announced", "resource", r.String(), "namespace", e.namespace.Value(), "name", e.name, "err", err)
	}
	return l
}

func (s *sweeping) stuck(r Resource, e entry) looked {
	s.store.put(e.uid, stuckFast, time.Time{}, s.ender.clock.Now())
	o := reaper.Object{Kind: r.Kind, Namespace: e.namespace.Value(), Name: e.name, Deleted: time.UnixMicro(int64(e.due))}
	s.ender.config.Log.Warn("an object does not go", "object", o.String(), "message", stuck(o, s.ender.clock.Now()))
	return stuckFast
}

func (s *sweeping) state() State {
	state := State{Objects: map[string]map[Class]int{}, Gaps: s.coverage.missing()}
	counts := map[uint16]*[isStuck + 1]int{}
	for _, w := range s.coverage.running() {
		counts[w.number] = new([isStuck + 1]int)
	}
	oldest, failing := s.store.count(counts)
	if oldest != 0 {
		state.Oldest = time.Unix(oldest, 0)
	}
	state.Failing = failing
	for _, w := range s.coverage.running() {
		if of := counts[w.number]; of != nil {
			state.Objects[w.resource.String()] = map[Class]int{}
			for i, n := range of {
				state.Objects[w.resource.String()][Classes[i]] = n
			}
		}
	}
	return state
}
