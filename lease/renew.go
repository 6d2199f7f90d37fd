package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Renew moves the end of the lease ahead, to the Duration of its mode from now,
// but never past its Max, and never back. In mode borrow it moves the gate's end,
// too, and looks whether the gate stands also where the end does not move.
//
// ErrLost if the lease is lost: an end that has passed is not moved; ErrOpened as
// well if that is because the gate was opened. The record is then still this
// holder's, until Release. After any other error the lease is held until its end
// as before, and Renew can be tried again. Two API calls, one if the end does not
// move, and the gate's.
func (h *Held) Renew(ctx context.Context) error {
	return h.renewTo(ctx, h.m.config.timing(h.mode).Duration)
}

// RenewFor is Renew with an end of d from now, in whole seconds: it is not less
// than Margin and two seconds, and not more than the Max of the mode, or the error
// is an ErrInvalid. It is Max after the acquisition at the latest, too, and never
// back: State says what end it came to. A lease that does not end by itself stays
// so.
func (h *Held) RenewFor(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return h.m.fail(opRenew, fmt.Errorf("%w: for 0s, want some time", ErrInvalid))
	}
	if err := h.m.config.checkFor(h.mode, d); err != nil {
		return h.m.fail(opRenew, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	return h.renewTo(ctx, d)
}

const opRenew = "renew lease"

func (h *Held) renewTo(ctx context.Context, d time.Duration) error {
	if err := h.write(ctx); err != nil {
		return h.m.fail(opRenew, err)
	}
	defer h.wrote()
	err := h.renew(ctx, d, h.gated())
	if err == nil || errors.Is(err, ErrLost) {
		return err
	}
	return h.m.fail(opRenew, err)
}

// renew moves the end to d from now, first that of the gate if there is one to be
// looked after, and then that of the record. If it is killed in between, the gate
// is closed for longer than the record says, and whoever runs next after the
// record's end sweeps it. The other way round the record would say that the
// target is borrowed when what heals it has begun to write again.
func (h *Held) renew(ctx context.Context, d time.Duration, gated bool) error {
	timing := h.m.config.timing(h.mode)
	var t tries
	for {
		if err := h.alive(); err != nil {
			return err
		}
		r, err := h.m.client.get(ctx)
		if err != nil {
			if err := h.m.again(ctx, &t, err); err != nil {
				return err
			}
			continue
		}
		if err := h.verify(r); err != nil {
			return err
		}
		s := h.State()
		end := r.date.Add(d)
		if timing.Max != 0 {
			if last := s.Acquired.Add(timing.Max); last.Before(end) {
				end = last
			}
		}
		stays := s.Expires.IsZero() || !end.After(s.Expires)
		if stays {
			end = s.Expires
		}
		if gated {
			if err := h.extend(ctx, end); err != nil {
				return err
			}
		}
		if stays {
			return h.alive()
		}
		w, err := h.m.client.put(ctx, renewed(r.lease, r.date, end))
		if err != nil {
			if err := h.m.again(ctx, &t, err); err != nil {
				return err
			}
			continue
		}
		// Between the two calls this machine can have slept past the end. The
		// write then moved an end that had passed, though nobody had acquired
		// the lease: that is no renewal, and it is taken back.
		if !w.date.Before(s.Expires) {
			err := h.lose(h.m.lost(h.m.state(w), fmt.Sprintf("it ran out at %s while it was being renewed", s.Expires.Format(time.RFC3339))))
			if rerr := h.takeBack(ctx, r.lease, w.lease); rerr != nil {
				h.m.config.Log.Warn("a renewal that came too late could not be taken back", "target", h.m.config.Target, "err", rerr)
			}
			return err
		}
		return h.verify(w)
	}
}

// takeBack gives the lease the end back that it had before a renewal. It is not
// released instead: others are to wait for the grace after that end, since a write
// that the lease guarded may still be on its way.
func (h *Held) takeBack(ctx context.Context, before, after *coordinationv1.Lease) error {
	written := h.m.state(reading{lease: after}).Expires
	var t tries
	for {
		_, err := h.m.client.put(ctx, restored(after, before))
		if err == nil || kubeclient.NotFound(err) {
			return nil
		}
		if err := h.m.again(ctx, &t, err); err != nil {
			return err
		}
		r, err := h.m.read(ctx)
		if err != nil {
			return err
		}
		if s := h.m.state(r); s.Holder != h.holder || s.Token != h.token || !s.Expires.Equal(written) {
			return nil
		}
		after = r.lease
	}
}

// extend moves the end of the gate, or looks whether it stands.
func (h *Held) extend(ctx context.Context, end time.Time) error {
	if h.isOpening() {
		return nil
	}
	claim := h.claimAt(h.State().Now, end)
	err := atGate(ctx, "extend the gate", h.m.config.GateTimeout, func(ctx context.Context) error {
		return h.m.config.Gate.Extend(ctx, claim)
	})
	switch {
	case err == nil:
		return nil
	case h.alive() != nil:
		return h.alive()
	case !errors.Is(err, ErrOpened):
		return err
	}
	// Who breaks a lease has its gate opened: then that is what to say.
	if lost := h.Check(ctx); errors.Is(lost, ErrLost) {
		return lost
	}
	err = errors.Unwrap(err)
	h.m.config.Log.Error("the lease is lost: its gate was opened", "target", h.m.config.Target, "holder", h.holder, "err", err)
	return h.lose(&LostError{Target: h.m.config.Target, Reason: err.Error(), State: h.State(), Err: err})
}
