package sweep

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// Notify records a warning Event on the object with this UID if it ends within
// Config.NotifyBefore, and notes on the object (pharos.dev/notified) for which deadline
// it did: once for each, whatever was killed in between. With the outcome Waiting and
// a deadline within NotifyBefore it was recorded, now or before; without an outcome it is
// past its end. A dry run only reads.
//
// Where the object cannot be annotated the Event's name still keeps it from being
// recorded twice for as long as the cluster keeps it, an hour by default.
func (e *Ender) Notify(ctx context.Context, r Resource, namespace, name, uid string) (Result, error) {
	o := reaper.Object{Group: r.Group, Kind: r.Kind, Namespace: namespace, Name: name}
	if err := named(namespace, name, uid); err != nil {
		return Result{}, fmt.Errorf("warn of the end of %s: %w", o, err)
	}
	res, err := e.notify(ctx, r, o, uid)
	if err != nil {
		return res, fmt.Errorf("warn of the end of %s: %w", o, err)
	}
	return res, nil
}

func (e *Ender) notify(ctx context.Context, r Resource, o reaper.Object, uid string) (Result, error) {
	for conflicts := 1; ; conflicts++ {
		seen, now, err := e.get(ctx, r, o.Namespace, o.Name)
		switch {
		case kubeclient.NotFound(err), err == nil && seen.UID != uid:
			return Result{Outcome: Gone, Object: o}, nil
		case err != nil:
			return Result{Object: o}, err
		}
		res := Result{Object: seen, Decision: e.config.Rules.Decide(seen, now)}
		res.Outcome = outcomeOf[res.Decision.Verdict]
		if !e.toNotify(res) || e.config.DryRun {
			return res, nil
		}
		deadline := reaper.FormatTime(res.Decision.Deadline)
		note := fmt.Sprintf("It is transient and is deleted at %s, unless that is put off: kubectl pharos touch, extend or retain.", deadline)
		err = e.record(ctx, r, seen, corev1.EventTypeWarning, reasonEndsSoon, note, deadline)
		switch {
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return withNamespace(res), nil
		case err != nil:
			return res, err
		}
		err = e.annotate(ctx, r, &res.Object, keys.Notified, deadline)
		if kubeclient.NotFound(err) {
			return Result{Outcome: Gone, Object: o}, nil
		}
		if !apierrors.IsConflict(err) || conflicts == maxConflicts {
			return res, err
		}
	}
}

// toNotify says whether a warning is due that was not recorded yet.
func (e *Ender) toNotify(res Result) bool {
	d := res.Decision
	return res.Outcome == Waiting && e.config.NotifyBefore > 0 && d.Deadline.Sub(e.clock.Now()) <= e.config.NotifyBefore &&
		res.Object.Annotations[keys.Notified] != reaper.FormatTime(d.Deadline)
}

// withNamespace is what becomes of an object whose namespace is deleted.
func withNamespace(res Result) Result {
	res.Outcome = Kept
	res.Decision = reaper.Decision{Verdict: reaper.Keep, Reason: reaper.Owned, Message: "it ends with its namespace"}
	return res
}
