package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lease"
)

// HandBackRequest gives a target back that was borrowed.
type HandBackRequest struct {
	// Holder is the ID of who borrowed it. Required.
	Holder string
	// Timeout is how long the target may take to be what was applied last. The
	// default is 5 minutes.
	Timeout time.Duration
	// NoWait does not wait for that, nor look at it.
	NoWait bool
	// Events receives what happens; may be nil.
	Events Sink
}

// HandBackResult is what became of a target that was given back. Beside an error it
// holds what was done until then.
type HandBackResult struct {
	// Lease is the lease as it was held.
	Lease lease.State
	// Released says that it is not this holder's any more, also beside an error.
	Released bool
	// Report is what the lease had kept away from the target, and what of it is not
	// as it is declared.
	Report lease.Report
	// Status is what the target looked like; zero if it was not looked at. Of its
	// Applications only those are looked at that the lease covered.
	Status Status
	// Took is how long it all took.
	Took time.Duration
}

// HandBack gives a target back that was borrowed: it opens the lease's gate, waits
// until what the lease covered is again what was applied last, healthy and at
// exactly that commit, and releases the lease. Meanwhile the lease is renewed.
//
// If the target has not come back in time, the error is a *NotReturnedError, and
// the lease is released all the same. So it is where nothing puts back what was
// changed under the lease, as where Pharos itself applies the objects: that is not
// waited for. If the gate could not be opened, the lease stays until it ends by
// itself, and HandBack can be called again.
//
// It may be killed at any moment; the same call goes on then. If the target is not
// borrowed by that holder any more, the error matches lease.ErrLost, and what its
// lease left closed is opened.
func (l *Lifecycle) HandBack(ctx context.Context, r HandBackRequest) (HandBackResult, error) {
	return l.handBack(ctx, r, (*handBack).run)
}

// FinishHandBack does what hand-backs and holders left over that are gone, whoever
// they were: it opens what their leases left closed, and waits until what those
// covered is as it is declared. The request's Holder is not used. It does not touch
// what belongs to who holds the lease. If something does not become as it is
// declared in time, the error is a *NotReturnedError.
func (l *Lifecycle) FinishHandBack(ctx context.Context, r HandBackRequest) (HandBackResult, error) {
	return l.handBack(ctx, r, (*handBack).finish)
}

// AwaitReturn is FinishHandBack for a target that was handed back in its holder's stead:
// when what leases left closed is open it waits, without a lease and so without writing,
// until the target as a whole is what was applied last, healthy and at exactly that
// commit. If it is not in time, the error is a *NotReturnedError; so it is at once where
// nothing puts back what was changed.
func (l *Lifecycle) AwaitReturn(ctx context.Context, r HandBackRequest) (HandBackResult, error) {
	return l.handBack(ctx, r, (*handBack).awaitReturn)
}

func (l *Lifecycle) handBack(ctx context.Context, r HandBackRequest, run func(*handBack, context.Context) error) (HandBackResult, error) {
	o := l.begin("", r.Events)
	r.Timeout = cmp.Or(max(r.Timeout, 0), defaultTimeout)
	res := HandBackResult{}
	o.emit(Event{Type: EventStarted})
	err := TargetError(run(&handBack{operation: o, request: r, result: &res}, ctx))
	res.Took = o.Now().Sub(o.start)
	end := Event{Type: EventFinished, Took: res.Took}
	if err != nil {
		end.Error = err.Error()
	}
	o.emit(end)
	return res, err
}

// handBack is one call of HandBack.
type handBack struct {
	*operation
	request HandBackRequest
	result  *HandBackResult
	held    *lease.Held
}

// toOpen is how long a gate may take to be opened where nothing else is waited for.
const toOpen = 10 * time.Second

func (h *handBack) run(ctx context.Context) (err error) {
	h.held, err = h.Lease.Resume(ctx, h.request.Holder)
	if lost, ok := errors.AsType[*lease.LostError](err); ok {
		h.result.Lease, h.result.Released = lost.State, true
		return errors.Join(lost, h.leftBehind(ctx))
	}
	if err != nil {
		return err
	}
	h.result.Lease = h.held.State()
	if mode := h.held.State().Mode; mode != lease.ModeBorrow {
		return &lease.LostError{Target: h.Target, Reason: fmt.Sprintf("it is held in mode %s, and nothing is borrowed", mode), State: h.held.State()}
	}
	h.held.WillOpen()
	opened := false
	err = whileHeld(ctx, h.held, func(ctx context.Context) error {
		bounded, cancel := h.bounded(ctx)
		defer cancel()
		if err := h.open(bounded, h.openGate); err != nil {
			return err
		}
		if opened = true; h.request.NoWait {
			return nil
		}
		return h.lookAt(ctx, bounded)
	})
	if !opened {
		return err
	}
	if errors.Is(err, lease.ErrLost) {
		err = &BlockedError{Reason: err.Error(), Next: "Look at who has it with: kubectl pharos lease show", Err: err}
	}
	rerr := h.release(ctx, h.held)
	h.result.Released = rerr == nil
	return errors.Join(err, rerr)
}

// bounded ends when the target has had its time to come back.
func (h *handBack) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := h.request.Timeout
	if h.request.NoWait {
		timeout = toOpen
	}
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it was not within %s", timeout))
}

// leftBehind opens what a lease left closed that is held no more.
func (h *handBack) leftBehind(ctx context.Context) error {
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	return h.open(ctx, h.sweep)
}

// finish is leftBehind for who has nothing else to say.
func (h *handBack) finish(ctx context.Context) error {
	bounded, cancel := h.bounded(ctx)
	defer cancel()
	err := h.open(bounded, h.sweep)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(h.result.Report.Pending) > 0 && !h.request.NoWait:
		return &NotReturnedError{Target: h.Target, Wrong: h.wrong(), Err: context.Cause(bounded), Next: h.next()}
	}
	return nil
}

// awaitReturn is finish, and a look at all of the target.
func (h *handBack) awaitReturn(ctx context.Context) error {
	bounded, cancel := h.bounded(ctx)
	defer cancel()
	if err := h.open(bounded, h.sweep); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case h.request.NoWait:
		return nil
	}
	return h.lookAt(ctx, bounded)
}

// step opens what is closed. It says whether the lease is nobody else's, so that
// what is pending may come back.
type step func(context.Context) (report lease.Report, ours bool, err error)

func (h *handBack) openGate(ctx context.Context) (lease.Report, bool, error) {
	report, err := h.held.Open(ctx)
	return report, true, err
}

func (h *handBack) sweep(ctx context.Context) (lease.Report, bool, error) {
	s, report, err := h.Lease.Sweep(ctx)
	return report, !s.Held, err
}

// open takes a step, and repeats it as long as something is pending that comes by
// itself.
func (h *handBack) open(ctx context.Context, step step) error {
	said := false
	for {
		report, ours, err := step(ctx)
		h.result.Report.Opened = append(h.result.Report.Opened, report.Opened...)
		h.result.Report.Pending, h.result.Report.Others = report.Pending, report.Others
		if err != nil {
			return err
		}
		if all := h.result.Report; !said && len(all.Opened) > 0 {
			said = true
			h.emit(Event{Type: EventGateOpened, Gate: &all})
		}
		if !ours || h.request.NoWait || h.stuck() || len(report.Pending) == 0 {
			return nil
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil // what is pending is said
		}
	}
}

// stuck says that what is pending does not come by itself.
func (h *handBack) stuck() bool {
	r := h.result.Report
	return len(r.Pending) > 0 && (len(r.Others) > 0 || !slices.ContainsFunc(r.Pending, func(p lease.Pending) bool { return !p.Failed }))
}

// lookAt looks at the target until it is what was applied last, or bounded ends.
func (h *handBack) lookAt(ctx, bounded context.Context) (err error) {
	var why error // waiting ended
	h.result.Status, err = h.statusBy(ctx, func(_ context.Context, r ObserveRequest) (seen Observation, err error) {
		seen, why, err = h.observe(ctx, bounded, r)
		return seen, err
	})
	if err != nil {
		return err
	}
	if seen := h.result.Status.Observation; h.result.Status.Applied != nil && seen.Healthy() && len(seen.Drifted) == 0 {
		h.result.Report.Pending = nil // it has come back since
	}
	wrong := h.wrong()
	if why != nil && len(wrong) == 0 {
		wrong = []string{strings.TrimSpace(why.Error())}
	}
	if len(wrong) == 0 {
		h.emit(Event{Type: EventHealthy})
		return nil
	}
	return &NotReturnedError{Target: h.Target, Wrong: wrong, Err: context.Cause(bounded), Next: h.next()}
}

// observe looks at what the lease covered, and waits for it where it may come back.
// What keeps it from that is no error.
func (h *handBack) observe(ctx, bounded context.Context, r ObserveRequest) (seen Observation, why, err error) {
	r.Covers = h.result.Lease.Covers
	if h.held != nil {
		r.Guard = h.held.Check
	}
	r.Progress = func(o Observation) {
		if !o.Healthy() {
			h.emit(Event{Type: EventWaiting, Unready: o.Unready})
		}
	}
	look := r
	if len(h.result.Report.Opened) == 0 {
		look.Anew = r.Guard // nobody has had it looked at since it was edited
	}
	seen, err = h.Deliverer.Observe(ctx, look)
	if err != nil || seen.Healthy() && len(seen.Drifted) == 0 || h.stuck() || !h.gated() && len(seen.Drifted) > 0 {
		return seen, nil, err
	}
	waited, err := h.Deliverer.Wait(bounded, r)
	switch {
	case err == nil:
		return waited, nil, nil
	case ctx.Err() != nil:
		return waited, nil, context.Cause(ctx)
	case bounded.Err() == nil && (errors.Is(err, ErrUnreachable) || errors.Is(err, lease.ErrLost)):
		return waited, nil, err
	}
	return waited, err, nil
}

// gated says whether something puts back what was changed under the lease: then the
// record names all that it covers.
func (h *handBack) gated() bool { return len(h.result.Lease.Covers) > 0 }

// wrong is what of the target is not as it was applied, one line each.
func (h *handBack) wrong() (lines []string) {
	st, said := h.result.Status, map[string]bool{}
	for _, p := range h.result.Report.Pending {
		said[p.Name] = true
		lines = append(lines, p.Name+": "+p.Reason)
	}
	for _, o := range h.result.Report.Others {
		lines = append(lines, "kept away by others: "+o)
	}
	for _, u := range st.Unreadable {
		lines = append(lines, fmt.Sprintf("%s cannot be read: %v", u.What, u.Err))
	}
	for _, u := range st.Observation.Unready {
		if !said[u.Object.Name] {
			lines = append(lines, fmt.Sprintf("%s is not healthy: %s", ObjectName(u.Object), u.Reason))
		}
	}
	for _, d := range st.Observation.Drifted {
		lines = append(lines, fmt.Sprintf("%s drifted: %s", ObjectName(d.Object), d.Reason))
	}
	return lines
}

// next is what brings the target to what was applied last.
func (h *handBack) next() string {
	if h.result.Status.Applied == nil {
		return "See what is on the target: kubectl pharos status"
	}
	again := "kubectl pharos reconcile " + short(source.ID(h.result.Status.Applied.Record.Commit))
	switch {
	case len(h.result.Report.Others) > 0:
		return "It comes back when that is over. To deliver it again then: " + again
	case h.gated():
		return "Deliver once more what was applied last: " + again
	}
	return "Nothing puts that back by itself. Deliver once more what was applied last: " + again + "\n" +
		"Fields that belong to somebody else since they were edited are taken over with --force-conflicts."
}

// NotReturnedError says why a target that was handed back is not what was applied
// last. It is an ErrUnhealthy.
type NotReturnedError struct {
	Target string
	Wrong  []string // one line each
	Next   string   // the command that helps
	Err    error    // that the time was over; nil if it was not waited for
}

func (e *NotReturnedError) Error() string {
	text := fmt.Sprintf("target %q was handed back, and is not what was applied last:\n  %s", e.Target, strings.Join(e.Wrong, "\n  "))
	if e.Err != nil {
		text += fmt.Sprintf("\n(%v)", e.Err)
	}
	return text + "\n" + e.Next
}

// Is reports that a NotReturnedError is an ErrUnhealthy.
func (e *NotReturnedError) Is(target error) bool { return target == ErrUnhealthy }
