package lifecycle

import (
	"context"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/receipt"
)

// jobsOf are the Jobs that outcomes say completed.
func jobsOf(outcomes []receipt.Outcome) (jobs []receipt.Object) {
	for _, o := range outcomes {
		if o.Type == receipt.OutcomeCompleted {
			jobs = append(jobs, o.Jobs...)
		}
	}
	return jobs
}

// completedOf are those of a record's objects that are among Jobs that completed,
// with the very content that ran.
func completedOf(objects []receipt.Object, jobs ...[]receipt.Object) (done []receipt.Object) {
	for _, o := range objects {
		ran := func(j receipt.Object) bool {
			return j.Group == o.Group && j.Kind == o.Kind && j.Namespace == o.Namespace && j.Name == o.Name && j.Hash == o.Hash
		}
		if slices.ContainsFunc(jobs, func(list []receipt.Object) bool { return slices.ContainsFunc(list, ran) }) {
			done = append(done, o)
		}
	}
	return done
}

// carriedJobs is how many Jobs that completed earlier, and that the record does not
// name, its outcomes know at most.
const carriedJobs = 1000

// carryCompleted has the outcomes of the delivery's receipt name the Jobs that
// are known to have completed, before the applied pointer names the receipt: so
// the outcomes of the applied receipt always know them all. Those that the record
// does not name are among them, since a later commit may bring the same content
// back, as a revert does.
func (d *delivery) carryCompleted(ctx context.Context) error {
	s := d.situation
	known := slices.Concat(s.completed, s.liveJobs)
	if d.earlier != nil {
		known = append(known, jobsOf(d.earlier.outcomes)...)
	}
	d.completed = completedOf(d.record.Objects, known)
	known = distinct(slices.Concat(d.completed, known))
	if d.id == d.pointers.Applied && len(known) == len(distinct(s.completed)) {
		return nil
	}
	return d.addCompleted(ctx, carried(known, d.completed))
}

// distinct sorts Jobs as outcomes hold them, each once.
func distinct(jobs []receipt.Object) []receipt.Object {
	jobs = slices.SortedStableFunc(slices.Values(jobs), receipt.CompareObjects)
	return slices.CompactFunc(jobs, func(a, b receipt.Object) bool { return receipt.CompareObjects(a, b) == 0 })
}

// carried are the Jobs that a record names, and as many others as are kept.
func carried(known, named []receipt.Object) []receipt.Object {
	others := 0
	return slices.DeleteFunc(known, func(j receipt.Object) bool {
		if slices.Contains(named, j) {
			return false
		}
		others++
		return others > carriedJobs
	})
}

// noteCompleted records the Jobs that were seen completed and were not known to
// be.
func (d *delivery) noteCompleted(ctx context.Context, seen []receipt.Object) error {
	var fresh []receipt.Object
	for _, o := range completedOf(d.record.Objects, seen) {
		if !slices.Contains(d.completed, o) {
			fresh = append(fresh, o)
		}
	}
	if err := d.addCompleted(ctx, fresh); err != nil {
		return err
	}
	d.completed = append(d.completed, fresh...)
	return nil
}

func (d *delivery) addCompleted(ctx context.Context, jobs []receipt.Object) error {
	if len(jobs) == 0 {
		return nil
	}
	if err := d.addOutcome(ctx, d.id, receipt.Outcome{Type: receipt.OutcomeCompleted, Jobs: jobs}); err != nil {
		return err
	}
	d.emit(Event{Type: EventOutcomeRecorded, Receipt: d.id, Outcome: receipt.OutcomeCompleted})
	return nil
}

// learnLiveJobs takes which Jobs completed at the live receipt, where it is not
// the applied one.
func (l *Lifecycle) learnLiveJobs(s *situation, w receipt.Whole) error {
	outcomes, err := w.Outcomes, w.OutcomesErr
	if unusable(err) {
		l.Log.Warn("the outcomes of the live receipt cannot be read: Jobs that ran once may run again", "receipt", s.pointers.Live.Short(), "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the outcomes of receipt %s: %w", s.pointers.Live, err)
	}
	s.liveJobs = jobsOf(outcomes)
	return nil
}
