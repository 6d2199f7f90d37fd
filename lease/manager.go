package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Manager acquires and inspects the lease of one target. It is safe for
// concurrent use.
type Manager struct {
	config Config
	client *client
}

// New returns the manager of a target's lease. It makes no call. The error,
// which is an ErrInvalid, lists everything in the configuration that breaks a
// rule.
func New(c Config) (*Manager, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	cl, err := newClient(c)
	if err != nil {
		return nil, fmt.Errorf("lease: %w Config.REST: %w", ErrInvalid, err)
	}
	return &Manager{config: c, client: cl}, nil
}

// Request says what a lease is acquired for.
type Request struct {
	// Mode is required.
	Mode Mode
	// User is user@host, for people: it says who, and decides nothing. At most
	// 256 bytes in one line.
	User string
	// Purpose is for people, at most 256 bytes in one line.
	Purpose string
	// Covers are the names of what the lease covers. Empty means all of the
	// target. In mode borrow they are those that the gate knows, and the record
	// names each.
	Covers []string
	// For is how far ahead the lease ends, in whole seconds. The default is the
	// Duration of the mode's Timing, and for maintain that it does not end by
	// itself. It is at most the Timing's Max.
	For time.Duration
	// Holder is the ID that the holder gets, as of NewHolder: for who has to know
	// it even if the process ends right after the lease was acquired. It must not
	// have been used before. The default is a new one.
	Holder string
	// Wait is how long to wait while somebody else holds the lease, and in mode
	// borrow while something is being written to what it covers. The default is
	// not to wait.
	Wait time.Duration
}

// check reports every rule that the request breaks.
func (r Request) check(c Config) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch r.Mode {
	case ModeDeliver, ModeBorrow, ModeMaintain:
	default:
		bad("Mode %q is none of %s, %s and %s", r.Mode, ModeDeliver, ModeBorrow, ModeMaintain)
	}
	for _, f := range []struct{ field, value string }{{"User", r.User}, {"Purpose", r.Purpose}} {
		if !isText(f.value) {
			bad("%s is not one line of UTF-8 of at most 256 bytes", f.field)
		}
	}
	if err := checkCovers(r.Covers); err != nil {
		errs = append(errs, err)
	}
	if r.For != 0 {
		if err := c.checkFor(r.Mode, r.For); err != nil {
			errs = append(errs, err)
		}
	}
	if len(r.Holder) > maxText || strings.ContainsFunc(r.Holder, func(c rune) bool { return !unicode.IsPrint(c) || unicode.IsSpace(c) }) {
		bad("Holder is not one word of at most 256 bytes")
	}
	if r.Wait < 0 {
		bad("Wait is %s, want 0 or more", r.Wait)
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w Request: %w", ErrInvalid, errors.Join(errs...))
	}
	return nil
}

// checkCovers reports every name that is none, and names that are too many.
func checkCovers(names []string) error {
	var errs []error
	size := 0
	for _, name := range names {
		size += len(name)
		if notAName(name) {
			errs = append(errs, fmt.Errorf("%s holds %q, which is not a name", "Covers", name))
		}
	}
	if size > 64<<10 {
		errs = append(errs, fmt.Errorf("%s has %d bytes, want at most 64 KiB", "Covers", size))
	}
	return errors.Join(errs...)
}

// NewHolder returns a random ID for a holder: see Request.Holder.
func NewHolder() string { return rand.Text() }

// Inspect reads the lease: the zero State, but for Now, if it was never
// acquired. One API call.
func (m *Manager) Inspect(ctx context.Context) (State, error) {
	r, err := m.read(ctx)
	if err != nil {
		return State{}, m.fail("inspect lease", err)
	}
	return m.state(r), nil
}

func (m *Manager) state(r reading) State { return stateOf(r.lease, r.date, m.config.Grace) }

// Acquire acquires the lease as a new holder with a new token, and closes the gate
// in mode borrow. Errors: ErrHeld while somebody else holds it, also when that is
// the same user; ErrBusy while what it is to cover is being written to; ErrInvalid;
// ErrNoNamespace; ErrLost if it was broken before the gate was closed; ctx's, with
// ErrHeld or ErrBusy if it ended while waiting. When it returns an error it has
// not acquired the lease, or given it back, unless the API server could not be
// reached for that: then it ends by itself.
//
// Two API calls, and with a gate one of its Sweep; in mode borrow five, and those
// of its Resolve, Sweep and Close; one more where there is no Lease. While it waits there is one more for each
// RetryPeriod, or three for each time that the gate was busy.
func (m *Manager) Acquire(ctx context.Context, req Request) (*Held, error) {
	const op = "acquire lease"
	if err := req.check(m.config); err != nil {
		return nil, m.fail(op, err)
	}
	holder := cmp.Or(req.Holder, NewHolder())
	began := m.config.Clock.Now()
	h, unclear, err := m.acquire(ctx, req, holder, began)
	if err == nil {
		if err = h.settle(ctx, req, began); err == nil {
			return h, nil
		}
		if aerr := h.abandon(ctx); aerr != nil {
			err = errors.Join(err, fmt.Errorf("and it could not be given back: %w", aerr))
		}
		return nil, m.fail(op, err)
	}
	if unclear {
		// A write of ours may have gone through although its answer was lost.
		// ctx may be over; this must not be.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.config.RequestTimeout)
		defer cancel()
		if cerr := m.release(ctx, holder, 0, nil); cerr != nil {
			err = errors.Join(err, fmt.Errorf("and it could not be given back: %w", cerr))
		}
	}
	var held *HeldError
	if errors.As(err, &held) {
		return nil, err
	}
	return nil, m.fail(op, err)
}

// acquire reads, decides and writes until it is clear who holds the lease. It
// reports whether a write of its own may have gone through unnoticed.
func (m *Manager) acquire(ctx context.Context, req Request, holder string, began time.Time) (_ *Held, unclear bool, _ error) {
	resolved := !m.gates(req.Mode)
	var t tries
	for {
		r, err := m.client.get(ctx)
		if err != nil {
			if err := m.again(ctx, &t, err); err != nil {
				return nil, unclear, err
			}
			continue
		}
		s := m.state(r)
		if s.Holder == holder {
			return m.newHeld(r), unclear, nil
		}
		if s.Held {
			held := &HeldError{Target: m.config.Target, State: s, Now: s.Now}
			left := req.Wait - m.config.Clock.Now().Sub(began)
			if left <= 0 {
				return nil, unclear, held
			}
			if err := m.sleep(ctx, min(left, m.config.RetryPeriod)); err != nil {
				return nil, unclear, errors.Join(err, held)
			}
			t = tries{} // a long wait may see some trouble
			resolved = !m.gates(req.Mode)
			continue
		}
		if usedUp(r.lease) {
			return nil, unclear, errUsedUp
		}
		if !resolved {
			if req.Covers, err = m.resolve(ctx, req.Covers); err != nil {
				return nil, unclear, err
			}
			resolved = true
			continue // that took time, of which the lease is to have none less
		}
		if r.lease == nil {
			// It is there before it is acquired. So its first token is of a later time
			// than the Date by which a sweep judges that there is none.
			if r, err = m.client.put(ctx, m.unheld()); err != nil {
				if err := m.again(ctx, &t, err); err != nil {
					return nil, unclear, err
				}
				continue
			}
		}
		w, err := m.client.put(ctx, acquired(r.lease, holder, req, r.date, m.end(req, r.date)))
		if err == nil {
			return m.newHeld(w), unclear, nil
		}
		unclear = unclear || !kubeclient.Refused(err)
		if err := m.again(ctx, &t, err); err != nil {
			return nil, unclear, err
		}
	}
}

// unheld is the Lease as it is created.
func (m *Manager) unheld() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name:      m.client.name,
		Namespace: m.client.namespace,
		Labels:    map[string]string{keys.ManagedBy: keys.Manager, keys.LeaseTarget: m.config.Target},
	}}
}

// duration is how far ahead a lease ends, 0 if it does not end by itself.
func (m *Manager) duration(r Request) time.Duration {
	return cmp.Or(r.For, m.config.timing(r.Mode).Duration)
}

// end is when a lease that is acquired at now ends, zero if it does not.
func (m *Manager) end(r Request, now time.Time) time.Time {
	if d := m.duration(r); d != 0 {
		return now.Add(d)
	}
	return time.Time{}
}

// Resume returns the lease that a holder of that ID acquired before, in another
// process for example; see Held.Holder. ErrLost if it does not hold it any
// more. Whoever knows the ID can release the lease. It does not look at the gate,
// which is open if the holder was killed before it was closed: renew the lease
// before anything is written under it. One API call.
func (m *Manager) Resume(ctx context.Context, holder string) (*Held, error) {
	const op = "resume lease"
	if holder == "" {
		return nil, m.fail(op, fmt.Errorf("%w: the holder's ID is empty", ErrInvalid))
	}
	r, err := m.read(ctx)
	if err != nil {
		return nil, m.fail(op, err)
	}
	if s := m.state(r); s.Holder != holder {
		return nil, m.lost(s, notOurs(r, s, holder))
	}
	h := m.newHeld(r)
	if err := h.verify(r); err != nil {
		return nil, err
	}
	return h, nil
}

// Retake is Resume with a new fencing token: whoever worked under the lease
// before, the same holder in another process for example, has lost it, and one
// writer remains. Errors are those of Resume, and ErrInvalid in mode borrow where
// there is a gate: that is closed for one token. Two API calls.
func (m *Manager) Retake(ctx context.Context, holder string) (*Held, error) {
	const op = "retake lease"
	var t tries
	for {
		h, err := m.Resume(ctx, holder)
		if err != nil {
			return nil, err
		}
		switch {
		case usedUp(h.lease):
			return nil, m.fail(op, errUsedUp)
		case h.gated():
			return nil, m.fail(op, fmt.Errorf("%w: its gate is closed for the token that it has", ErrInvalid))
		}
		w, err := m.client.put(ctx, retaken(h.lease, h.State().Now))
		if err == nil {
			return m.newHeld(w), nil
		}
		// A conflict can be our own write, whose answer was lost: a token more does
		// no harm.
		if err := m.again(ctx, &t, err); err != nil {
			return nil, m.fail(op, err)
		}
	}
}

// release clears the lease if holder has it, with that token unless it is 0.
// last is the lease as it was last seen, nil if it was not.
func (m *Manager) release(ctx context.Context, holder string, tok int64, last *coordinationv1.Lease) error {
	var t tries
	for {
		if last == nil {
			r, err := m.client.get(ctx)
			if err != nil {
				if err := m.again(ctx, &t, err); err != nil {
					return err
				}
				continue
			}
			if s := m.state(r); s.Holder != holder || (tok != 0 && s.Token != tok) {
				return nil
			}
			last = r.lease
		}
		_, err := m.client.put(ctx, released(last))
		if err == nil {
			return nil
		}
		// If the lease was deleted, so was our hold on it. A conflict can be
		// our own write, whose answer was lost: look.
		last = nil
		if kubeclient.NotFound(err) {
			return nil
		}
		if err := m.again(ctx, &t, err); err != nil {
			return err
		}
	}
}

func (m *Manager) lost(s State, reason string) error {
	return &LostError{Target: m.config.Target, Reason: reason, State: s}
}

// notOurs says what became of the lease of holder, whose it is not any more.
func notOurs(r reading, s State, holder string) string {
	switch {
	case r.lease == nil:
		return "it was deleted"
	case s.brokenFor(holder):
		return s.Broken.String()
	case s.Holder == "":
		return "it was released"
	}
	return fmt.Sprintf("%s acquired it at %s", s.Who(), s.Acquired.Format(time.RFC3339))
}
