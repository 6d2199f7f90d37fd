package restore

import (
	"context"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// setAside gets a session object out of the way that cannot be read. Whose it is is not
// known, so that whoever borrows the target loses it first.
func (r *Restorer) setAside(ctx context.Context, s journal.Session, state lease.State, reason string) (Report, error) {
	report := Report{Reason: reason, Lease: state}
	if borrowed(state) {
		if err := r.breakLease(ctx, state, reason); err != nil {
			return report, err
		}
	}
	var err error
	if report.Aside, err = r.store.SetAside(ctx, s); err != nil {
		return report, err
	}
	report.Done = true
	report.Left = "what is written down of the takeover could not be read, and is kept in Secret " + r.config.Namespace + "/" + report.Aside +
		". What was taken over is not known: kubectl pharos reconcile puts back what Git declares"
	return report, nil
}

// borrowed says whether somebody has the target for a takeover, or else to edit on it.
func borrowed(state lease.State) bool { return state.Held && state.Mode == lease.ModeBorrow }
