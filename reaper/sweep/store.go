package sweep

import (
	"math/rand/v2"
	"sync"
	"time"
	"unique"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// store is what the watches saw and when it is to be looked at: all that a sweep
// remembers. Nothing ends by it alone. It is safe for concurrent use.
type store struct {
	rules                    reaper.Rules
	notifyBefore, stuckAfter time.Duration
	changed                  chan struct{} // holds a token when something may be due earlier

	mu        sync.Mutex
	deadlines deadlines
	flights   map[string]*flight // what is being looked at, by UID
	failures  map[string]int     // how often in a row that failed, by UID
}

// flight is an object that is being looked at.
type flight struct {
	due   moment // its deadline as it was taken
	told  bool   // a watch has told of it meanwhile
	again moment // and said that it is to be looked at then
}

// source is a list or a watch of one resource.
type source struct {
	list  uint32 // which of its lists, in order
	watch uint16 // which resource's
}

func newStore(c Config) *store {
	return &store{
		rules: c.Rules, notifyBefore: c.NotifyBefore, stuckAfter: c.StuckAfter, changed: make(chan struct{}, 1),
		flights: map[string]*flight{}, failures: map[string]int{},
	}
}

// see takes over what a watch shows of an object.
func (s *store) see(from source, o reaper.Object, now time.Time) {
	e, counts := s.entryOf(o, now)
	if !counts {
		s.forget(o.UID)
		return
	}
	e.source = from
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flights[o.UID]
	if was := s.deadlines.get(o.UID); was != nil && f == nil {
		s.keepPace(&e, *was)
	}
	if f != nil {
		f.told, f.again = true, e.at
		e.at = never
	}
	s.deadlines.put(e)
	s.tell(e.uid)
}

// entryOf is an object's entry; false if nothing says that it ends.
func (s *store) entryOf(o reaper.Object, now time.Time) (entry, bool) {
	d := s.rules.Decide(o, now)
	class, counts := classOf(d)
	e := entry{
		uid: o.UID, namespace: unique.Make(o.Namespace), name: o.Name, created: o.Created.Unix(),
		class: class, at: never, due: never,
	}
	switch {
	case class == isTerminating:
		e.due, e.at = momentOf(o.Deleted), momentOf(o.Deleted.Add(s.stuckAfter))
	case !d.Deadline.IsZero():
		e.due, e.at = momentOf(d.Deadline), momentOf(d.Deadline)
		e.announced = o.Annotations[keys.Notified] == reaper.FormatTime(d.Deadline)
		if s.notifyBefore > 0 && !e.announced {
			e.at = momentOf(d.Deadline.Add(-s.notifyBefore))
		}
	}
	return e, counts
}

// keepPace keeps what changes all the time, by our own hand too, from being looked at
// all the time.
func (s *store) keepPace(e *entry, was entry) {
	if was.due != e.due || was.at == never && was.class != isStuck {
		return
	}
	switch {
	case was.announced && !e.announced:
		e.announced, e.at = true, was.at
	case was.class == isRefused && e.class == isWaiting, was.class == isStuck && e.class == isTerminating:
		e.class, e.at = was.class, was.at
	case s.failures[e.uid] > 0:
		e.at = max(e.at, was.at)
	}
}

// forget takes over that an object is gone, or nothing says any more that it ends.
func (s *store) forget(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadlines.remove(uid)
	delete(s.failures, uid)
}

// listed takes over that a list is complete: what an earlier one of this watch had and
// this one has not is gone.
func (s *store) listed(last source) {
	s.forgetAll(func(e *entry) bool { return e.watch == last.watch && e.list != last.list })
}

// unwatched takes over that a resource is not watched any more.
func (s *store) unwatched(watch uint16) {
	s.forgetAll(func(e *entry) bool { return e.watch == watch })
}

func (s *store) forgetAll(is func(*entry) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadlines.removeAll(func(e *entry) bool {
		gone := is(e)
		if gone {
			delete(s.failures, e.uid)
		}
		return gone
	})
}

// take returns what is due and takes it off until it is put back; or else when
// something is.
func (s *store) take(now moment) (e entry, due bool, next moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.deadlines.first()
	switch {
	case first == nil:
		return entry{}, false, never
	case first.at > now:
		return entry{}, false, first.at
	}
	e = *first
	s.flights[e.uid] = &flight{due: e.due}
	s.deadlines.move(e.uid, never)
	return e, true, 0
}

// looked is what a look at an object came to.
type looked uint8

const (
	failed    looked = iota // nobody knows
	unreached               // nobody knows, and the API server may answer soon
	ended                   // this UID is gone or is being deleted
	gone                    // this UID is gone, also if no watch says so
	waits                   // it has a later deadline
	refused                 // it must not end, and what changes that may not be shown by a watch
	kept                    // its end is no business of the sweep, or a watch shows what changes that
	announced               // its end was announced
	stuckFast               // it is being deleted for long
	postponed               // there was no look: what is of its resource is not answered
)

const (
	// soonest is when an object is looked at again at the earliest whose deadline
	// another clock has not reached.
	soonest = 200 * time.Millisecond
	// retryFirst and retryMost are the pauses after an end has failed; after an outage
	// all that became due waits for retryUnreached at most.
	retryFirst, retryMost, retryUnreached = time.Second, 5 * time.Minute, 15 * time.Second
	// refusedAgain is when an object is looked at again for which something else has
	// to change, which no watch shows.
	refusedAgain = 10 * time.Minute
	// postponement is for how long at least a look is put off.
	postponement = 2 * time.Second
)

// put takes back what was taken, with what a look at it came to, and when it ends if
// it waits.
func (s *store) put(uid string, l looked, deadline, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, e := s.flights[uid], s.deadlines.get(uid)
	delete(s.flights, uid)
	if l != failed && l != unreached && l != postponed {
		delete(s.failures, uid)
	}
	if e == nil {
		return // gone meanwhile
	}
	if l == gone {
		s.deadlines.remove(uid)
		return
	}
	at := never
	switch l {
	case ended:
		e.class, e.due = isTerminating, momentOf(now)
		at = momentOf(now.Add(s.stuckAfter))
	case waits:
		e.due, e.announced = momentOf(deadline), false
		at = momentOf(later(deadline.Add(-s.notifyBefore), now.Add(soonest)))
	case refused:
		e.class = isRefused
		at = momentOf(now.Add(refusedAgain))
	case failed, unreached:
		at = momentOf(now.Add(s.pause(uid, l)))
		if !e.announced && e.due > momentOf(now) {
			at = min(at, e.due)
		}
	case announced:
		e.announced = e.due == f.due
		at = e.due
	case stuckFast:
		e.class = isStuck
	case postponed:
		at = momentOf(now.Add(postponement + rand.N(3*postponement)))
	}
	if f.told && l != ended && l != stuckFast {
		switch {
		case f.again == never, l == waits, l == kept, l == announced && !e.announced:
			at = f.again
		case l == failed, l == unreached, l == refused, l == postponed:
			at = max(at, f.again)
		}
	}
	s.deadlines.move(uid, at)
	s.tell(uid)
}

// pause is how long nothing is tried with an object that has failed once more.
func (s *store) pause(uid string, l looked) time.Duration {
	n, most := s.failures[uid], retryMost
	if l == unreached {
		most = retryUnreached
	}
	s.failures[uid]++
	d := min(retryFirst<<min(n, 20), most)
	return d + rand.N(d/4)
}

// tell has a sleep end if the entry is the first one now.
func (s *store) tell(uid string) {
	if first := s.deadlines.first(); first == nil || first.uid != uid {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// count counts the entries of each watch by class, and returns when the oldest was
// created, in seconds since 1970, and how many fail.
func (s *store) count(of map[uint16]*[isStuck + 1]int) (oldest int64, failing int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range s.deadlines.all() {
		if n := of[e.watch]; n != nil {
			n[e.class]++
		}
		if e.created > 0 && (oldest == 0 || e.created < oldest) {
			oldest = e.created
		}
	}
	return oldest, len(s.failures)
}
