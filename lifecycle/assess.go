package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// situation is what a target said of itself before anything was decided.
type situation struct {
	clusterUID string
	lease      lease.State
	pointers   receipt.Pointers
	damage     damage
	// unprepared is why nothing may be delivered to the target yet; nil if that may
	// be.
	unprepared error
	// preparedOn is the cluster that the checkpoint was written on, if it was read.
	preparedOn string
	// adopted says that the target is taken over from another repository.
	adopted bool
	// applied and live are the receipts that the pointers name, nil if none.
	// They are the same pointer if they are the same receipt.
	applied, live *receipt.Record
	// last is the latest outcome of the applied receipt's deliveries.
	last *receipt.Outcome
	// completed are the Jobs that run once and completed, by the outcomes of the
	// applied receipt, which name those of the receipts before it too.
	completed []receipt.Object
	// liveJobs are those by the outcomes of the live receipt, where that is another.
	liveJobs []receipt.Object
	// seen and applications are what the live receipt's last live outcome saw;
	// nil if it is not known. Proven says that there is such an outcome.
	seen         []receipt.Seen
	applications []receipt.Application
	proven       bool
}

// assess reads the target: seven requests at most, three round trips deep.
func (l *Lifecycle) assess(ctx context.Context) (*situation, error) {
	s := &situation{}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { s.clusterUID, err = l.Cluster.UID(gctx); return err })
	g.Go(func() (err error) { s.lease, err = l.Lease.Inspect(gctx); return err })
	g.Go(func() error { return l.readReceipts(gctx, s) })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	s.dropForeign()
	return s, nil
}

// dropForeign drops the receipts of another cluster: they say nothing of this
// one.
func (s *situation) dropForeign() {
	if s.preparedOn != "" && s.preparedOn != s.clusterUID {
		s.unprepared, s.pointers.Repository = &foreignError{names: s.preparedOn, is: s.clusterUID}, ""
	}
	same := s.live == s.applied
	if err := s.foreign(s.applied); err != nil {
		s.applied, s.damage.applied, s.last, s.seen, s.applications, s.completed = nil, err, nil, nil, nil, nil
	}
	if same {
		s.live = s.applied
	} else if err := s.foreign(s.live); err != nil {
		s.live, s.damage.live, s.liveJobs = nil, err, nil
	}
}

func (s *situation) foreign(r *receipt.Record) error {
	if r == nil || r.Target.ClusterUID == s.clusterUID {
		return nil
	}
	return &foreignError{names: r.Target.ClusterUID, is: s.clusterUID}
}

// damage is what of a target's records cannot be used: it is gone, is not what
// its name says, or is of another cluster.
type damage struct{ pointers, applied, live, outcomes error }

// foreignError says that a receipt is of another cluster.
type foreignError struct{ names, is string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("it is of another cluster: it names %s, this one is %s", e.names, e.is)
}

// goneError says that a record must have been there, and how that is known.
type goneError string

func (e goneError) Error() string { return string(e) }

func (e goneError) Is(target error) bool { return target == receipt.ErrNotFound }

// unusable says whether an error of a store is about what it holds, rather than
// about reaching it.
func unusable(err error) bool {
	return errors.Is(err, receipt.ErrNotFound) || errors.Is(err, receipt.ErrCorrupt)
}

// unreadable lists the damage, the worst first.
func (s *situation) unreadable() []Unreadable {
	var list []Unreadable
	add := func(err error, format string, args ...any) {
		if err != nil {
			list = append(list, Unreadable{What: fmt.Sprintf(format, args...), Err: err})
		}
	}
	add(s.damage.pointers, "the pointers to what is applied and live")
	add(s.damage.applied, "the applied receipt %s", s.pointers.Applied.Short())
	add(s.damage.live, "the live receipt %s", s.pointers.Live.Short())
	add(s.damage.outcomes, "the outcomes of the applied receipt %s", s.pointers.Applied.Short())
	return list
}

// unknown is why it is not known what the target was told last; nil if it is.
func (s *situation) unknown() *Unreadable {
	if list := s.unreadable(); s.damage.pointers != nil || s.damage.applied != nil {
		return &list[0]
	}
	return nil
}

func (l *Lifecycle) readReceipts(ctx context.Context, s *situation) (err error) {
	s.pointers, err = l.Receipts.Pointers(ctx)
	if errors.Is(err, receipt.ErrCorrupt) && s.pointers.Version != "" {
		s.damage.pointers, err = err, nil
	}
	if err == nil && s.pointers.Version == "" {
		s.damage.pointers, err = l.pointersGone(ctx)
	}
	if err == nil && s.pointers.Version == "" && s.damage.pointers == nil {
		err = l.readCheckpoint(ctx, s)
	}
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	if s.pointers.Applied != "" {
		g.Go(func() (err error) {
			w := receipt.ReadWhole(ctx, l.Receipts, s.pointers.Applied)
			if s.applied, err = l.record(s.pointers.Applied, w, &s.damage.applied); err != nil {
				return err
			}
			return l.learn(s, w)
		})
	}
	if s.pointers.Live != "" && s.pointers.Live != s.pointers.Applied {
		g.Go(func() (err error) {
			w := receipt.ReadWhole(ctx, l.Receipts, s.pointers.Live)
			if s.live, err = l.record(s.pointers.Live, w, &s.damage.live); err != nil {
				return err
			}
			return l.learnLiveJobs(s, w)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if s.pointers.Live == s.pointers.Applied {
		s.live = s.applied
		// The outcomes of a receipt that is gone go with it.
		if s.live != nil && !s.proven && s.damage.outcomes == nil {
			s.damage.outcomes = goneError("none of them says that it was live, and the pointers do")
		}
	}
	return nil
}

// readCheckpoint looks whether a target to which nothing was delivered yet is
// prepared, and for which repository. One that was delivered to is: by this
// version, or as far as an earlier one needed it.
func (l *Lifecycle) readCheckpoint(ctx context.Context, s *situation) error {
	if l.Setup == nil {
		return nil
	}
	at, err := l.Setup.Checkpoints.Checkpoint(ctx)
	switch {
	case errors.Is(err, ErrCheckpoint):
		s.unprepared = err
		return nil
	case err != nil:
		return err
	case at.Version == "":
		s.unprepared = errors.New("it was never prepared")
	case !at.Complete:
		s.unprepared = errors.New("its preparation did not end")
	}
	s.preparedOn, s.pointers.Repository = at.Target.ClusterUID, at.Repository
	return nil
}

// pointersGone is why a target without pointers must have had some: its receipts
// say so. One that was killed before it first moved them left a receipt that
// does not.
func (l *Lifecycle) pointersGone(ctx context.Context) (damage, err error) {
	receipts, err := l.Receipts.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the receipts of target %q: %w", l.Target, err)
	}
	for _, r := range receipts {
		delivered, err := r.Delivered(), error(nil)
		if !delivered {
			delivered, err = l.hasParent(ctx, r.ID)
		}
		if err != nil {
			return nil, err
		}
		if delivered {
			return goneError(fmt.Sprintf("they are gone, and receipt %s of an earlier delivery is there", r.ID.Short())), nil
		}
	}
	return nil, nil
}

// hasParent says whether a record names a receipt before it. One that cannot be
// read may do so.
func (l *Lifecycle) hasParent(ctx context.Context, id receipt.ID) (bool, error) {
	of, err := l.links(ctx, id)
	if errors.Is(err, receipt.ErrCorrupt) {
		return true, nil
	}
	return of[id].parent != "", err
}

// record is that of a receipt. One that is there no more, or damaged, is no
// error, but noted.
func (l *Lifecycle) record(id receipt.ID, w receipt.Whole, damaged *error) (*receipt.Record, error) {
	if unusable(w.RecordErr) {
		*damaged = w.RecordErr
		return nil, nil
	}
	if w.RecordErr != nil {
		return nil, fmt.Errorf("read receipt %s of target %q: %w", id, l.Target, w.RecordErr)
	}
	return &w.Record, nil
}

// learn takes what the outcomes of the applied receipt say.
func (l *Lifecycle) learn(s *situation, w receipt.Whole) error {
	outcomes, err := w.Outcomes, w.OutcomesErr
	if unusable(err) {
		s.damage.outcomes = err
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the outcomes of receipt %s: %w", s.pointers.Applied, err)
	}
	s.completed = jobsOf(outcomes)
	for i := range outcomes {
		if outcomes[i].Type == receipt.OutcomeCompleted {
			continue
		}
		s.last = &outcomes[i]
		if outcomes[i].Type == receipt.OutcomeLive && s.pointers.Live == s.pointers.Applied {
			s.seen, s.applications, s.proven = outcomes[i].Objects, outcomes[i].Applications, true
		}
	}
	return nil
}

// provenObjects are the objects of the receipt that the target was seen to hold,
// nil if what it held is not known.
func (s *situation) provenObjects() []receipt.Object {
	if s.seen == nil || s.live == nil {
		return nil
	}
	return s.live.Objects
}
