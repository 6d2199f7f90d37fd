package argocd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
)

// ending is how long an operation may take to end that was told to.
const ending = time.Minute

// idle waits until no operation runs in an Application, for as long as the
// configuration allows. One that only waits to be tried again, of the controller
// or of Pharos, is ended: it would bring an earlier commit once more. So is one of
// theirs that does not end by itself, since it would keep every later commit from
// being delivered, also that which mends it. One that nobody goes on with is
// forgotten. Who only looks leaves them, since they are no obstacle.
func (v *delivery) idle(ctx context.Context, p *part) error {
	end := v.now().Add(v.operationWait)
	var asked, told time.Time // it was told to end first, and reminded last
	for {
		if p.app == nil || !argo.Busy(p.app) {
			return nil
		}
		abandoned := argo.Abandoned(p.app)
		if (abandoned || endable(p.app)) && v.onlyLooks() {
			return nil
		}
		now := v.now()
		late := now.After(end)
		if !abandoned && argo.Parked(p.app) || late && (!asked.IsZero() || !endable(p.app)) {
			return busy(p)
		}
		var err error
		switch {
		case abandoned:
			err = v.change(ctx, p, v.r.Guard, forget)
		case endable(p.app) && (!asked.IsZero() || late || argo.Retrying(p.app.Status.OperationState) || v.outdated(p.app)):
			if asked.IsZero() {
				asked, end = now, now.Add(max(v.operationWait, ending))
			}
			told = now
			err = v.change(ctx, p, v.r.Guard, terminate)
		case !asked.IsZero() && now.Sub(told) > settle:
			told = now
			err = v.change(ctx, p, v.r.Guard, nudge)
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := v.readOne(ctx, p); err != nil {
			return err
		}
	}
}

func busy(p *part) error {
	if argo.Parked(p.app) {
		return &lifecycle.BlockedError{
			Reason: fmt.Sprintf("%s has an operation (begun by %s) that waits for the end of a sync window, and would bring its own revision then", p, argo.Operator(p.app)),
			Next:   "End it: " + terminateWords(p),
		}
	}
	return &lifecycle.BlockedError{
		Reason: fmt.Sprintf("in %s an operation runs, begun by %s", p, argo.Operator(p.app)),
		Next:   "Wait for it, or end it: " + terminateWords(p),
	}
}

// terminateWords end an operation, with Argo CD's own command and without it.
func terminateWords(p *part) string {
	return fmt.Sprintf(`argocd app terminate-op %s, or: kubectl patch application --namespace %s %[1]s --type merge --patch '{"status":{"operationState":{"phase":"Terminating"}}}'`,
		p.object.Name, p.object.Namespace)
}

// endable says whether an operation runs that is nobody's who would miss it: the
// controller's, or one of Pharos under an earlier lease.
func endable(a *argo.Application) bool {
	s := a.Status.OperationState
	return s != nil && s.Phase == "Running" && !argo.Parked(a) &&
		(s.Operation.InitiatedBy.Automated || s.Operation.InitiatedBy.Username == argo.User)
}

// outdated says whether the operation is one of Pharos that brings another commit:
// whoever began it has the lease no more.
func (v *delivery) outdated(a *argo.Application) bool {
	o := a.Status.OperationState.Operation
	return o.InitiatedBy.Username == argo.User && o.Sync != nil && o.Sync.Revision != "" && o.Sync.Revision != string(v.r.Commit)
}

func terminate(a *argo.Application) ([]argo.Op, error) {
	if !endable(a) {
		return nil, nil
	}
	return []argo.Op{
		{Op: "test", Path: "/status/operationState/phase", Value: "Running"},
		{Op: "replace", Path: "/status/operationState/phase", Value: "Terminating"},
	}, nil
}

func forget(a *argo.Application) ([]argo.Op, error) { return argo.AbandonedOps(a), nil }

// begin is a full sync at exactly what the spec says, which deletes nothing.
func begin(commit string) func(*argo.Application) ([]argo.Op, error) {
	return func(a *argo.Application) ([]argo.Op, error) {
		if !a.Several() && a.Spec.Source.Text("targetRevision") == commit {
			return argo.SyncOps(a, []string{commit}), nil
		}
		return argo.SyncOps(a, nil), nil
	}
}

// unpark takes away the operations of this wait that a sync window parks: they
// would bring this commit when the window ends, whatever was delivered by then.
func (w *watching) unpark(ctx context.Context) error {
	var errs []error
	for _, p := range w.parts {
		if p.app == nil || p.synced.IsZero() {
			continue
		}
		errs = append(errs, w.change(ctx, p.part, w.r.Guard, func(a *argo.Application) ([]argo.Op, error) {
			if s := a.Status.OperationState; !argo.Parked(a) || s.Operation.InitiatedBy.Username != argo.User {
				return nil, nil
			}
			return argo.UnparkOps(a), nil
		}))
	}
	return errors.Join(errs...)
}

func ask(kind string) func(*argo.Application) ([]argo.Op, error) {
	return func(a *argo.Application) ([]argo.Op, error) { return argo.RefreshOps(a, kind), nil }
}

func nudge(a *argo.Application) ([]argo.Op, error) { return argo.NudgeOps(a), nil }
