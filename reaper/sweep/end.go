package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// ErrUnsettled is returned when an object was changed by others each time before it
// could be deleted. It is to be tried again later.
var ErrUnsettled = errors.New("it is changed over and over")

// The limits of one End.
const (
	maxConflicts = 8
	maxFailures  = 3
)

// End ends the object with this UID, if it is past its end: see the package's
// comment for how. It waits for the budget first, a namespace only when the first look
// into it has found nothing. Whether it was deleted, and if not
// why, is the Result's Outcome; the error says that this could not be found out or
// done: that of a request, ErrUnsettled, or the context's.
func (e *Ender) End(ctx context.Context, r Resource, namespace, name, uid string) (Result, error) {
	res, err := e.end(ctx, r, namespace, name, uid)
	if err == nil {
		e.recordEnd(ctx, r, res)
	}
	return res, err
}

// end is End without the Event.
func (e *Ender) end(ctx context.Context, r Resource, namespace, name, uid string) (Result, error) {
	o := reaper.Object{Group: r.Group, Kind: r.Kind, Namespace: namespace, Name: name}
	if err := named(namespace, name, uid); err != nil {
		return Result{}, fmt.Errorf("end %s: %w", o, err)
	}
	take := e.budget.take
	if r.isNamespaces() {
		take = e.looks.take // the budget is taken between its looks
	}
	give, err := take(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("end %s: %w", o, err)
	}
	defer give()
	res, err := e.settle(ctx, r, o, uid)
	if err != nil {
		return res, fmt.Errorf("end %s: %w", o, err)
	}
	return res, nil
}

// settle tries until it is known what became of the object.
func (e *Ender) settle(ctx context.Context, r Resource, o reaper.Object, uid string) (Result, error) {
	var asked *Result // of a deletion, without hearing what became of it
	for conflicts, failures := 0, 0; ; {
		res, err := e.try(ctx, r, o, uid)
		switch {
		case err == nil && asked != nil && (res.Outcome == Gone || res.Decision.Reason == reaper.Terminating):
			return *asked, nil
		case err == nil || ctx.Err() != nil:
			return res, err
		case apierrors.IsConflict(err):
			if conflicts++; conflicts == maxConflicts {
				return res, fmt.Errorf("%w: %w", ErrUnsettled, err)
			}
			continue
		case !kubeclient.Transient(err) || errors.Is(err, errNoDate):
			return res, err
		case res.Outcome != Deleted && errors.Is(err, context.DeadlineExceeded):
			return res, err // others wait for the slot that this one has
		}
		if res.Outcome == Deleted {
			asked = &res
		}
		if failures++; failures == maxFailures {
			return res, err
		}
		select {
		case <-time.After(100 * time.Millisecond << failures):
		case <-ctx.Done():
			return res, context.Cause(ctx)
		}
	}
}

// try reads, decides and deletes once. With an error of the deletion itself the
// Outcome is Deleted: it may be.
func (e *Ender) try(ctx context.Context, r Resource, o reaper.Object, uid string) (Result, error) {
	seen, now, err := e.get(ctx, r, o.Namespace, o.Name)
	switch {
	case kubeclient.NotFound(err), err == nil && seen.UID != uid:
		return Result{Outcome: Gone, Object: o}, nil
	case err != nil:
		return Result{Object: o}, err
	}
	res := Result{Object: seen, Decision: e.config.Rules.Decide(seen, now)}
	if res.Decision.Verdict != reaper.Delete {
		res.Outcome = outcomeOf[res.Decision.Verdict]
	} else if r.isNamespaces() {
		give, err := e.guard(ctx, &res)
		defer give()
		if err != nil {
			return res, err
		}
	}
	if res.Outcome != "" {
		if r.isNamespaces() && seen.Deleted.IsZero() && res.Outcome != Gone {
			e.unmark(ctx, res.Object)
		}
		return res, nil
	}
	if e.config.DryRun {
		res.Outcome = WouldDelete
		return res, nil
	}
	res.Outcome = Deleted
	err = e.delete(ctx, r, res.Object)
	switch {
	case kubeclient.NotFound(err):
		return Result{Outcome: Gone, Object: o}, nil
	case r.isNamespaces() && kubeclient.Refused(err) && !apierrors.IsConflict(err):
		e.unmark(ctx, res.Object)
	}
	return res, err
}

// named refuses what would be in a path what it is not.
func named(namespace, name, uid string) error {
	if name == "" || uid == "" {
		return errors.New("its name or UID is not given")
	}
	for _, s := range []string{namespace, name} {
		if why := content.IsPathSegmentName(s); len(why) > 0 {
			return fmt.Errorf("%q is no name: it %s", s, strings.Join(why, " and "))
		}
	}
	return nil
}

// preconditions are those that the object is still the one that was decided about.
func preconditions(o reaper.Object) *metav1.Preconditions {
	uid := types.UID(o.UID)
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &o.ResourceVersion}
}
