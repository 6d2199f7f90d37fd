package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// ErrInvalid is returned for a Config or a Request that breaks a rule.
var ErrInvalid = errors.New("invalid")

// Lease tells about the lease of the target, and breaks it. *lease.Manager is one.
type Lease interface {
	Inspect(ctx context.Context) (lease.State, error)
	Break(ctx context.Context, r lease.BreakRequest) (lease.Report, error)
}

// Config says which target's sessions are ended.
type Config struct {
	// REST is how the API server is reached. It is copied. Required.
	REST *rest.Config
	// Namespace is that of the target's lease, Target the target's name. Required.
	Namespace, Target string
	// Lease is the target's. Required.
	Lease Lease
	// By names who ends a session, for people: user@host, or the controller's pod.
	// Required.
	By string
	// Others says that something else puts back what Git declares, Argo CD for example:
	// Pass and Watch then only look, and delete the session object when that is done.
	Others bool
	// Log receives what is tried again. The default discards it.
	Log *slog.Logger
}

// Restorer ends the sessions of one target. It is safe for concurrent use, also by
// several processes.
type Restorer struct {
	config Config
	store  *journal.Store
}

// New returns a Restorer. It makes no call. The error matches ErrInvalid.
func New(c Config) (*Restorer, error) {
	if c.Lease == nil || c.By == "" {
		return nil, fmt.Errorf("restore: %w Config: Lease and By are required", ErrInvalid)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	store, err := journal.NewStore(journal.StoreConfig{REST: c.REST, Namespace: c.Namespace, Target: c.Target})
	if err != nil {
		return nil, fmt.Errorf("restore: %w Config: %w", ErrInvalid, err)
	}
	return &Restorer{config: c, store: store}, nil
}

// Request says how a session is ended.
type Request struct {
	// Reason is why, for people, in one line. The default is that it was asked for.
	Reason string
	// Force breaks the lease of a holder that still has it. Without it such a session
	// is left alone.
	Force bool
	// DryRun writes nothing: the report says what would be done.
	DryRun bool
}

// Report is what became of a session.
type Report struct {
	// Session is the session's ID, User who began it; empty if there is none.
	Session, User string
	// Reason is why it is ended; empty if it is not.
	Reason string
	// Left says why nothing was done, or what is left to be done by others.
	Left string
	// Lease is the target's, as it was looked at.
	Lease lease.State
	// Aside is the Secret that has a copy of the session object, which could not be
	// read and is gone; empty where it could be read.
	Aside string
	// Workloads are those that were looked at.
	Workloads []Workload
	// Done says that nothing is left of it, or nothing but the holder's lease.
	Done bool
	// Diverted is how many workloads may still be the agent's.
	Diverted int

	// next is when to look again at the latest; zero for whenever.
	next time.Duration
}

// Workload is what became of one.
type Workload struct {
	divert.Subject
	divert.Restoration
	// Err is why it could not be restored; nil if it was.
	Err error
}

// Restore ends the session of the target, from its session object alone: from any
// machine, without a checkout. journal.ErrNone if there is none. A *lease.HeldError,
// which is a lease.ErrHeld, if its holder still has the lease and Force is not set; with
// Force the lease is broken, and its grace waited for. The error has all workloads that
// could not be restored; the others are.
//
// journal.ErrDamaged if the session object cannot be read. With Force it is set aside
// then, once the lease of whoever borrows the target is over: what was taken over is not
// known, and delivering once more puts it back.
//
// It may be called again, also after it was killed at any point, and by several at once.
func (r *Restorer) Restore(ctx context.Context, q Request) (Report, error) {
	q.Reason = cmp.Or(q.Reason, "it was asked for")
	return r.again(ctx, func() (Report, error) {
		s, state, err := r.look(ctx)
		if errors.Is(err, journal.ErrDamaged) && q.Force && !q.DryRun {
			return r.setAside(ctx, s, state, q.Reason)
		}
		if err != nil {
			return Report{Lease: state}, err
		}
		if q.DryRun {
			return r.preview(ctx, s, state)
		}
		if alive(s, state) {
			if !q.Force {
				return r.report(s, state), &lease.HeldError{Target: r.config.Target, State: state, Now: state.Now}
			}
			if err := r.breakLease(ctx, state, q.Reason); err != nil {
				return r.report(s, state), err
			}
		}
		return r.end(ctx, s, state, q.Reason, false)
	})
}

// Pass ends the session if that is due, as a controller does again and again:
//
//   - when its lease has ended, with the grace, or was released, or is another
//     holder's;
//   - when its holder, who still has the lease, has been silent for longer than the
//     session says: see journal.Document's Silence;
//   - when somebody else has begun to end it.
//
// With Config.Others it only looks, and deletes the session object when the lease is over
// and no workload has the agent any more. That there is no session is no error. One API
// call where there is none, and two where there is one.
func (r *Restorer) Pass(ctx context.Context) (Report, error) {
	return r.again(ctx, func() (Report, error) {
		s, state, err := r.look(ctx)
		switch {
		case errors.Is(err, journal.ErrNone):
			return Report{}, nil
		case errors.Is(err, journal.ErrDamaged) && !borrowed(state):
			return Report{Lease: state, Reason: "what is written down of it cannot be read"}, err
		case err != nil:
			return Report{}, err
		}
		reason, silent := due(s, state)
		report := r.report(s, state)
		switch {
		case reason == "":
			report.Left = fmt.Sprintf("%s has it", state.Who())
			report.next = soonest(s, state)
			return report, nil
		case r.config.Others:
			report.Reason = reason
			return r.left(ctx, s, report, silent)
		}
		return r.end(ctx, s, state, reason, silent)
	})
}

// again decides anew where somebody has written meanwhile.
func (r *Restorer) again(ctx context.Context, try func() (Report, error)) (Report, error) {
	const attempts = 5
	var before Report
	for n := 1; ; n++ {
		report, err := try()
		report.Workloads = since(before.Workloads, report.Workloads)
		if n == attempts || ctx.Err() != nil || !errors.Is(err, journal.ErrConflict) {
			return report, err
		}
		before = report
		r.config.Log.Debug("decided anew", "target", r.config.Target, "attempt", n, "err", err)
	}
}

// since are the workloads of an attempt that followed another one: what that has
// restored, and of which nothing is left to do, was restored.
func since(before, now []Workload) []Workload {
	for i, w := range now {
		for _, was := range before {
			if was.Subject == w.Subject {
				now[i].Restoration = was.Then(w.Restoration)
			}
		}
	}
	return now
}

// look reads the session, and then the lease: a holder that has acquired it anew in
// between has written the session, too, and a write of what was read fails. Where the
// session cannot be read the lease is looked at all the same.
func (r *Restorer) look(ctx context.Context) (journal.Session, lease.State, error) {
	s, err := r.store.Load(ctx)
	if err != nil && !errors.Is(err, journal.ErrDamaged) {
		return s, lease.State{}, err
	}
	state, lerr := r.config.Lease.Inspect(ctx)
	return s, state, cmp.Or(lerr, err)
}

// report is what there is.
func (r *Restorer) report(s journal.Session, state lease.State) Report {
	report := Report{Session: s.Document.Session, User: s.Document.User, Lease: state}
	for _, w := range s.Document.Workloads {
		if w.State == journal.Diverting {
			report.Diverted++
		}
	}
	return report
}

// alive says whether the session's holder has the lease, with the grace after its end:
// what it checked before may still be on its way.
func alive(s journal.Session, state lease.State) bool {
	return state.Held && state.Holder == s.Document.Holder
}

// due says why a session is to be ended, and whether its holder still has the lease.
func due(s journal.Session, state lease.State) (reason string, silent bool) {
	d := s.Document
	switch held := alive(s, state); {
	case held && d.Ending != nil && d.Ending.Done:
		return "", true
	case d.Ending != nil && !d.Ending.Done:
		return d.Ending.Reason, held
	case !held:
		return lost(s, state), false
	case d.Silence > 0 && s.Silent() > d.SilenceOf():
		return fmt.Sprintf("its holder has been silent for %s", s.Silent().Round(time.Second)), true
	}
	return "", true
}

// lost says what became of the holder's lease.
func lost(s journal.Session, state lease.State) string {
	switch b := state.Broken; {
	case b != nil && b.Holder == s.Document.Holder:
		return "its lease is over: " + b.String()
	case state.Held:
		return "its lease is over, and " + state.Who() + " has acquired it"
	}
	return "its lease is over"
}

// toEnd is how long after its end a lease is over for others, and a second more, since
// the API server cuts its times to seconds.
const toEnd = 6 * time.Second

// soonest is when something can become due.
func soonest(s journal.Session, state lease.State) time.Duration {
	var next time.Duration
	if !state.Expires.IsZero() {
		next = state.Expires.Sub(state.Now) + toEnd
	}
	if d := s.Document; d.Silence > 0 && d.Ending == nil {
		left := d.SilenceOf() - s.Silent() + time.Second
		next = min(cmp.Or(next, left), left)
	}
	return max(next, 0)
}
