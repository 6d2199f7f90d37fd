package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// Finish hands a session back that does not run: its process was killed, or has ended.
// Where the journal has none the error matches journal.ErrNone. It may be killed at any
// moment and called again. If the target is somebody else's by now, the error matches
// lease.ErrHeld; what of the workloads is not as it was is then put back by who holds
// it, by the target's controller, or by Argo CD.
func (s *Session) Finish(ctx context.Context) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	defer s.drop()
	there, err := s.load()
	if err != nil {
		return err
	}
	if !there {
		return journal.ErrNone
	}
	s.emit(Event{Type: EventStarted, Resumed: true})
	s.sweep()
	if err = s.persist(ctx, s.Timeout, passes, s.findOut); err == nil {
		err = s.giveBack(ctx)
	}
	err = s.attempted("hand back", err)
	s.emit(finished(err))
	return err
}

// giveBack returns everything, in the reverse order of a takeover: the workloads, the
// session object, the lease. An outage does not end it, nor does a lease that ran out
// and that nobody has acquired.
func (s *Session) giveBack(ctx context.Context) error {
	s.returning = true
	defer func() { s.returning = false }()
	passing := func(err error) bool { return s.doc.Session != "" && again(err) && s.broken(err) == nil }
	err := s.persist(ctx, s.Timeout, passing, func(ctx context.Context) error {
		ours, err := s.reclaim(ctx)
		if err != nil {
			return err
		}
		if !ours {
			left := s.openLeft(ctx)
			if again(left) {
				return left
			}
			return errors.Join(left, s.stopAll(), s.forget())
		}
		return whileOurs(ctx, s.giveBackOurs, s.lost)
	})
	if broken := s.broken(err); broken != nil {
		return broken
	}
	return s.leftAlone(err)
}

// giveBackOurs is giveBack under the lease.
func (s *Session) giveBackOurs(ctx context.Context) error {
	var slow error
	if len(s.doc.Workloads) > 0 {
		var err error
		if slow, err = s.returnAll(ctx); err != nil {
			return err
		}
	}
	err := errors.Join(slow, s.stopAll())
	released, why := s.release(ctx)
	if err = errors.Join(err, why); !released {
		return err
	}
	return errors.Join(err, s.forget())
}

// reclaim gets the lease back for what is still to be written under it. ours says that
// there is something.
func (s *Session) reclaim(ctx context.Context) (ours bool, err error) {
	if s.held != nil && s.held.Check(ctx) == nil {
		return true, nil
	}
	held, err := s.Lifecycle.Lease.Resume(ctx, s.doc.Holder)
	switch {
	case err == nil:
		s.keep(held)
		return true, nil
	case !errors.Is(err, lease.ErrLost):
		return false, lifecycle.TargetError(err)
	case len(s.doc.Workloads) == 0 || s.doc.Step == journal.Released:
		return false, nil // it was never acquired, or released already
	}
	if held, err = s.acquire(ctx, "hand-back of a takeover", s.covered()); err != nil {
		return false, err
	}
	s.keep(held)
	s.holder = held.Holder()
	return true, nil
}

// covered is what the lease covers where the session has no parts: all.
func (s *Session) covered() []string {
	if len(s.parts) > 0 {
		return s.covers()
	}
	return nil
}

// returnAll puts the workloads back, and forgets the session object. slow says of which
// pods the agents are not gone in time, which is no reason to stop.
func (s *Session) returnAll(ctx context.Context) (slow, err error) {
	if err := s.loadForReturn(ctx); err != nil {
		return nil, err
	}
	if err := s.step(ctx, journal.HandingBack); err != nil {
		return nil, err
	}
	var errs []error
	for i, w := range s.doc.Workloads {
		if w.State == journal.HandedBack {
			continue
		}
		err := s.returnWorkload(ctx, i)
		if s.doc.Workloads[i].State == journal.HandedBack {
			slow, err = errors.Join(slow, err), nil // it is as it was
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return slow, err
	}
	if slow == nil {
		s.removeAgents(ctx)
	}
	if err := s.step(ctx, journal.Restored); err != nil {
		return slow, err
	}
	if s.recorded {
		s.unbeat()
		if err := s.store.Delete(ctx, s.object); err != nil {
			return slow, fmt.Errorf("delete the session object of target %q: %w", s.doc.Target, err)
		}
		s.unrecord()
		s.emit(Event{Type: EventForgotten})
	}
	return slow, nil
}

// toRemove is for how long a registry is waited for that may not answer.
const toRemove = 30 * time.Second

// removeAgents removes the images that nothing runs any more. What is left is only in
// the way.
func (s *Session) removeAgents(ctx context.Context) {
	if s.Agents == nil {
		return
	}
	ctx, stop := s.bounded(ctx, toRemove, "the registry has not answered")
	defer stop()
	for _, w := range s.doc.Workloads {
		if err := s.Agents.Remove(ctx, w.Diversion.Agent); err != nil {
			s.Log.Warn("remove the image of an agent", "image", w.Diversion.Agent, "err", err)
		}
	}
}

// bounded ends a context when a time has passed on the session's clock, with why. It has
// to be stopped.
func (s *Session) bounded(ctx context.Context, limit time.Duration, why string) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	late, ended := s.Clock.After(limit), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-late:
			cancel(fmt.Errorf("%s for %s", why, limit))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// returnWorkload puts the workload of that place back, and waits until no pod has the
// agent any more: meanwhile those are served.
func (s *Session) returnWorkload(ctx context.Context, i int) error {
	w := s.doc.Workloads[i]
	p := s.partOf(w.Diversion)
	s.setReturning(p, true)
	defer func() {
		if s.doc.Workloads[i].State != journal.HandedBack {
			s.setReturning(p, false)
		}
	}()
	var slow error
	if w.State == journal.Diverting {
		r, err := s.writer.Restore(ctx, w.Diversion)
		if err != nil {
			return err
		}
		s.emitOf(p, Event{Type: EventRestored, Outcome: string(r.Outcome), Reason: r.Reason, Kept: kept(r)})
		switch slow = s.awaitPods(ctx, p, left, notLeft); {
		case slow == nil:
			s.emitOf(p, Event{Type: EventAgentsGone})
		case !errors.Is(slow, errSlow) && !kubeclient.Refused(slow): // who may not look does not wait
			return slow
		}
	}
	err := s.save(ctx, func(d *journal.Document) { d.Workloads[i].State = journal.HandedBack })
	return errors.Join(err, slow, s.stopPart(p))
}

// setReturning keeps whether a workload is being handed back.
func (s *Session) setReturning(p *part, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.returning = is
}

// returnPart hands one workload of several back, while the session goes on.
func (s *Session) returnPart(ctx context.Context, p *part) error {
	i := s.index(p)
	err := s.returnWorkload(ctx, i)
	if s.doc.Workloads[i].State != journal.HandedBack {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = slices.DeleteFunc(slices.Clone(s.parts), func(o *part) bool { return o == p })
	return err
}

// partOf is the part of a diversion; of a session that does not run, one that is as
// much as is known of it.
func (s *Session) partOf(d divert.Diversion) *part {
	for _, p := range s.parts {
		if p.workload.Namespace == d.Namespace && p.workload.Name == d.Name {
			return p
		}
	}
	return &part{workload: Workload{Namespace: d.Namespace, Name: d.Name, Container: d.Container}}
}

// release gives the target back, and waits until it is what the receipt says.
func (s *Session) release(ctx context.Context) (released bool, err error) {
	if err := s.step(ctx, journal.Released); err != nil {
		return false, err
	}
	s.giveUp()
	var res lifecycle.HandBackResult
	err = s.untilBroken(ctx, func(ctx context.Context) (err error) {
		res, err = s.Lifecycle.HandBack(ctx, lifecycle.HandBackRequest{Holder: s.doc.Holder, Timeout: s.Timeout})
		return err
	})
	switch {
	case s.broken(err) != nil: // whatever else failed then: what the target is to be is somebody else's affair
		lost, _ := errors.AsType[*lease.LostError](err)
		err = &lifecycle.BlockedError{Reason: lost.Error(), Next: "Look at who has it with: kubectl pharos lease show", Err: lost}
	case errors.Is(err, lease.ErrLost) && res.Released && len(s.doc.Workloads) == 0:
		err = s.openLeft(ctx) // it had not been acquired, or has ended
	}
	if res.Released && passes(err) {
		err = s.see(ctx) // nothing is left to be done
	}
	if err == nil {
		s.emit(Event{Type: EventReturned, Covers: res.Lease.Covers})
	}
	return res.Released, err
}

// openLeft opens what a lease has left closed that is the session's no more, and waits
// until what that covered is as it is declared.
func (s *Session) openLeft(ctx context.Context) error {
	if !reached(s.doc.Step, journal.Leased) {
		return nil
	}
	_, err := s.Lifecycle.FinishHandBack(ctx, lifecycle.HandBackRequest{Timeout: s.Timeout})
	return err
}

// see waits until the target is what the receipt says, which an outage kept from being
// seen.
func (s *Session) see(ctx context.Context) error {
	passing := func(err error) bool { return passes(err) || errors.Is(err, lifecycle.ErrUnhealthy) }
	return s.persist(ctx, s.Timeout, passing, func(ctx context.Context) error {
		st, err := s.Lifecycle.Status(ctx)
		if err == nil && !st.IsLive() {
			err = fmt.Errorf("target %q was handed back, and is not yet what its receipt says: %w", s.Lifecycle.Target, lifecycle.ErrUnhealthy)
		}
		return lifecycle.TargetError(err)
	})
}

// forget removes the journal: nothing is left to do.
func (s *Session) forget() error {
	if err := s.unwrite(); err != nil {
		return err
	}
	s.mu.Lock()
	s.doc, s.parts, s.id = journal.Document{}, nil, ""
	s.mu.Unlock()
	s.declared, s.images, s.standing, s.resumed = nil, nil, false, false
	return nil
}
