package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
)

// idle waits until no operation runs in an Application, for as long as the
// configuration allows. One that only waits to be tried again, of the controller
// or of Pharos, is ended: it would bring an earlier commit once more. Who only
// looks leaves it, since it is no obstacle.
func (v *delivery) idle(ctx context.Context, p *part) error {
	end := v.now().Add(v.operationWait)
	for {
		if p.app == nil || !argo.Busy(p.app) {
			return nil
		}
		if retrying(p.app) && v.onlyLooks() {
			return nil
		}
		if argo.Parked(p.app) || v.now().After(end) {
			return busy(p)
		}
		if retrying(p.app) {
			if err := v.change(ctx, p, v.r.Guard, terminate); err != nil {
				return err
			}
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
			Next:   "End it: argocd app terminate-op " + p.object.Name,
		}
	}
	return &lifecycle.BlockedError{
		Reason: fmt.Sprintf("in %s an operation runs, begun by %s", p, argo.Operator(p.app)),
		Next:   "Wait for it, or end it: argocd app terminate-op " + p.object.Name,
	}
}

// retrying says whether the Application's operation failed and waits to be tried
// again, and is nobody's who would miss it.
func retrying(a *argo.Application) bool {
	s := a.Status.OperationState
	return argo.Retrying(s) && !argo.Parked(a) &&
		(s.Operation.InitiatedBy.Automated || s.Operation.InitiatedBy.Username == user)
}

func terminate(a *argo.Application) ([]argo.Op, error) {
	if !retrying(a) {
		return nil, nil
	}
	return []argo.Op{
		{Op: "test", Path: "/status/operationState/phase", Value: "Running"},
		{Op: "replace", Path: "/status/operationState/phase", Value: "Terminating"},
	}, nil
}

// begin is a full sync at exactly what the spec says, which deletes nothing.
func begin(commit, receipt string) func(*argo.Application) ([]argo.Op, error) {
	return func(a *argo.Application) ([]argo.Op, error) {
		if argo.Busy(a) {
			return nil, nil
		}
		sync := map[string]any{"prune": false, "syncStrategy": map[string]any{"hook": map[string]any{}}}
		if !a.Several() && a.Spec.Source.Text("targetRevision") == commit {
			sync["revision"] = commit
		}
		op := map[string]any{"sync": sync, "initiatedBy": map[string]any{"username": user}}
		if receipt != "" {
			op["info"] = []any{map[string]any{"name": "Receipt", "value": receipt}}
		}
		if p := a.Spec.SyncPolicy; p != nil {
			if len(p.SyncOptions) > 0 {
				sync["syncOptions"] = p.SyncOptions
			}
			if len(p.Retry) > 0 && string(p.Retry) != "null" {
				op["retry"] = json.RawMessage(p.Retry)
			}
		}
		// The version that was read is part of the patch, so that no operation
		// has been set since.
		return []argo.Op{{Op: "add", Path: "/operation", Value: op}}, nil
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
			if s := a.Status.OperationState; !argo.Parked(a) || s.Operation.InitiatedBy.Username != user {
				return nil, nil
			}
			ops := []argo.Op{{Op: "remove", Path: "/status/operationState"}}
			if a.Operation != nil {
				ops = append(ops, argo.Op{Op: "remove", Path: "/operation"})
			}
			return ops, nil
		}))
	}
	return errors.Join(errs...)
}

func ask(kind string) func(*argo.Application) ([]argo.Op, error) {
	return func(a *argo.Application) ([]argo.Op, error) {
		if a.Metadata.Annotations[argo.RefreshAnnotation] == kind {
			return nil, nil
		}
		var ops []argo.Op
		if a.Metadata.Annotations == nil {
			ops = append(ops, argo.Op{Op: "add", Path: "/metadata/annotations", Value: map[string]string{}})
		}
		return append(ops, refresh(kind)), nil
	}
}
