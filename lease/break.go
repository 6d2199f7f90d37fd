package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
)

// BreakRequest says who ends somebody else's lease, and why.
type BreakRequest struct {
	// User is who does it, user@host. Required, at most 256 bytes in one line.
	User string
	// Reason is for the holder, whom the lease is taken away from. Required, at
	// most 256 bytes in one line.
	Reason string
	// Holder is the ID of the holder to break it for. The default is whoever
	// holds the lease.
	Holder string
}

// check reports every rule that the request breaks.
func (r BreakRequest) check() error {
	var errs []error
	for _, f := range []struct{ field, value string }{{"User", r.User}, {"Reason", r.Reason}} {
		switch {
		case strings.TrimSpace(f.value) == "":
			errs = append(errs, fmt.Errorf("%s is required", f.field))
		case !isText(f.value):
			errs = append(errs, fmt.Errorf("%s is not one line of UTF-8 of at most 256 bytes", f.field))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w BreakRequest: %w", ErrInvalid, errors.Join(errs...))
	}
	return nil
}

// Break ends the lease of whoever holds it, in any mode, and then lets the gate
// sweep what was closed for it. The holder's next Check, Renew or Resume is an
// ErrLost that says who broke it and why; see State.Broken, which stays until
// the lease is broken again. Like any lease that has ended, it can be acquired
// after the grace: what its holder has checked may still be on its way.
//
// Errors: ErrInvalid; a *HeldError, which is an ErrHeld, if Holder is not who
// holds it, or if somebody else acquired it since Break began; ErrNotHeld if
// nobody does, or did any more. ErrLeftClosed if the lease was broken and the
// gate could not be opened. The Report is valid beside ErrNotHeld and
// ErrLeftClosed: the gate sweeps then, too, so that a Break that was killed in
// between is finished by the next one. Two API calls, and the gate's.
func (m *Manager) Break(ctx context.Context, req BreakRequest) (Report, error) {
	const op = "break lease"
	if err := req.check(); err != nil {
		return Report{}, m.fail(op, err)
	}
	r, err := m.breakRecord(ctx, req)
	if err != nil && !errors.Is(err, ErrNotHeld) {
		return Report{}, m.fail(op, err)
	}
	// The record comes first: it is what keeps the holder from closing the gate
	// once more, or from moving its end.
	report, serr := m.sweep(ctx, m.leftover(r))
	if serr != nil {
		err = errors.Join(err, fmt.Errorf("%w: %w", ErrLeftClosed, serr))
	}
	if err != nil {
		return report, m.fail(op, err)
	}
	return report, nil
}

// breakRecord takes the lease from its holder, and returns it as it then is.
// What it writes is the same in every try, so that it recognises it.
func (m *Manager) breakRecord(ctx context.Context, req BreakRequest) (reading, error) {
	var t tries
	var annotation string
	for {
		r, err := m.client.get(ctx)
		if err != nil {
			if err := m.again(ctx, &t, err); err != nil {
				return reading{}, err
			}
			continue
		}
		s := m.state(r)
		switch {
		case annotation != "" && r.lease != nil && r.lease.Annotations[keys.LeaseBroken] == annotation:
			return r, nil // our own write, whose answer was lost
		case s.over():
			return r, notHeld(s)
		case req.Holder != "" && s.Holder != req.Holder:
			return r, &HeldError{Target: m.config.Target, State: s, Now: s.Now}
		}
		if annotation == "" {
			req.Holder = s.Holder // and nobody who acquires it meanwhile
			b := Broken{By: req.User, Reason: req.Reason, At: r.date, Holder: s.Holder, User: s.User, Token: s.Token}
			if annotation, err = b.encode(); err != nil {
				return r, err
			}
		}
		w, err := m.client.put(ctx, broken(r.lease, s, annotation))
		if err == nil {
			return w, nil
		}
		if err := m.again(ctx, &t, err); err != nil {
			return r, err
		}
	}
}

// notHeld says why there is nothing to break.
func notHeld(s State) error {
	switch {
	case s.Broken != nil && (s.Holder == "" || s.Broken.Holder == s.Holder):
		return fmt.Errorf("%w: %s", ErrNotHeld, s.Broken)
	case s.Holder != "":
		return fmt.Errorf("%w: that of %s ran out at %s", ErrNotHeld, s.Who(), s.Expires.Format(time.RFC3339))
	}
	return ErrNotHeld
}
