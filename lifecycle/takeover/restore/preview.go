package restore

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// preview says what would become of the workloads of a session, and writes nothing.
func (r *Restorer) preview(ctx context.Context, s journal.Session, state lease.State) (Report, error) {
	report := r.report(s, state)
	w, err := r.writer(nil)
	if err != nil {
		return report, err
	}
	report.Diverted = 0
	var errs []error
	for _, of := range s.Document.Workloads {
		if of.State != journal.Diverting {
			continue
		}
		would, err := w.Preview(ctx, of.Diversion)
		report.Workloads = append(report.Workloads, Workload{Subject: of.Diversion.Subject, Restoration: would, Err: err})
		if err != nil || would.Outcome == divert.OutcomeRestored {
			report.Diverted++
		}
		errs = append(errs, err)
	}
	return report, errors.Join(errs...)
}

// left leaves a session that is over to what delivers the target, and deletes the session
// object when that has put everything back.
func (r *Restorer) left(ctx context.Context, s journal.Session, report Report, silent bool) (Report, error) {
	report.Left = "what delivers the target puts it back; kubectl pharos handback --force does, too"
	if silent {
		return report, nil // its gate is closed, and the holder may come back
	}
	seen, err := r.preview(ctx, s, report.Lease)
	report.Diverted = seen.Diverted
	if err != nil || seen.Diverted > 0 {
		return report, err
	}
	// The holder acquires its lease before it goes on with the session.
	state, err := r.config.Lease.Inspect(ctx)
	if err != nil || alive(s, state) {
		return report, err
	}
	if err := r.store.Delete(ctx, s); err != nil {
		return report, err
	}
	report.Left, report.Workloads, report.Done = "", seen.Workloads, true
	return report, nil
}
