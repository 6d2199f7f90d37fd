package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// breakLease takes the lease from who holds it, and waits until what that has checked is
// over.
func (r *Restorer) breakLease(ctx context.Context, held lease.State, reason string) error {
	if !held.WasBroken() {
		_, err := r.config.Lease.Break(ctx, lease.BreakRequest{User: r.config.By, Reason: reason, Holder: held.Holder})
		if err != nil && !errors.Is(err, lease.ErrNotHeld) {
			return err
		}
	}
	for {
		state, err := r.config.Lease.Inspect(ctx)
		if err != nil || !state.Held || state.Holder != held.Holder {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// end puts the workloads of a session back. First it is written down that it does, so
// that the holder, who may come back, does not go on with what is being put back. silent
// says that the holder still has its lease: what is written down stays then, for it.
func (r *Restorer) end(ctx context.Context, s journal.Session, state lease.State, reason string, silent bool) (Report, error) {
	if e := s.Document.Ending; e == nil {
		s.Document.Ending = &journal.Ending{By: r.config.By, Reason: reason, At: s.Now}
		var err error
		if s, err = r.store.Save(ctx, s); err != nil {
			return r.report(s, state), err
		}
	}
	report := r.report(s, state)
	report.Reason, report.Diverted = s.Document.Ending.Reason, 0
	w, err := r.writer(func(ctx context.Context) error { return r.ending(ctx, s) })
	if err != nil {
		return report, err
	}
	var errs []error
	for i := range s.Document.Workloads {
		of := &s.Document.Workloads[i]
		if of.State != journal.Diverting {
			continue
		}
		restored, err := w.Restore(ctx, of.Diversion)
		report.Workloads = append(report.Workloads, Workload{Subject: of.Diversion.Subject, Restoration: restored, Err: err})
		if err != nil {
			report.Diverted++
			errs = append(errs, err)
			continue
		}
		of.State = journal.HandedBack
	}
	if err := errors.Join(errs...); err != nil {
		return report, err
	}
	return r.done(ctx, s, report, silent)
}

// writer writes Deployments of the target alone.
func (r *Restorer) writer(guard func(context.Context) error) (*divert.Writer, error) {
	return divert.New(divert.Config{REST: r.config.REST, Target: r.config.Target, Log: r.config.Log, Guard: guard})
}

// ending says whether the session is still being ended: its holder may have taken it up
// again.
func (r *Restorer) ending(ctx context.Context, s journal.Session) error {
	now, err := r.store.Load(ctx)
	switch {
	case err != nil:
		return err
	case now.UID != s.UID || now.Document.Session != s.Document.Session || now.Document.Ending == nil:
		return fmt.Errorf("session %s of target %s is not being ended any more: %w", s.Document.Session, r.config.Target, journal.ErrConflict)
	}
	return nil
}

// done ends what is written down.
func (r *Restorer) done(ctx context.Context, s journal.Session, report Report, silent bool) (Report, error) {
	var err error
	if silent {
		s.Document.Ending.Done = true
		_, err = r.store.Save(ctx, s)
	} else {
		err = r.store.Delete(ctx, s)
	}
	report.Done = err == nil
	return report, err
}
