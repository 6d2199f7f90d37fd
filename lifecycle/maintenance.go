package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// MaintenanceRequest begins a maintenance.
type MaintenanceRequest struct {
	// Holder is the ID by which the maintenance is ended and delivered under, as
	// of lease.NewHolder. Keep it where it outlives the process before the call:
	// a maintenance does not end with it. Required.
	Holder string
	// Reason is why, for the people who find the target held: one line of at most
	// 256 bytes. Required.
	Reason string
	// For is when it ends by itself, in whole seconds, whatever the target looks like
	// then. The default is that it does not.
	For time.Duration
	// Wait is how long to wait while somebody else holds the lease. The default is
	// not to wait.
	Wait time.Duration
	// DryRun says whether it could begin, and changes nothing.
	DryRun bool
}

// StartMaintenance fences the target: nobody delivers to it until EndMaintenance
// finds it live, but for who delivers under the maintenance
// (ReconcileRequest.Maintenance). It does not end by itself, unless it is to. With the ID of a
// maintenance that is on it changes nothing. While somebody else holds the lease
// the error is a *BlockedError.
func (l *Lifecycle) StartMaintenance(ctx context.Context, r MaintenanceRequest) (lease.State, error) {
	var missing []error
	if r.Holder == "" {
		missing = append(missing, errors.New("lifecycle: MaintenanceRequest.Holder is required"))
	}
	if r.Reason == "" {
		missing = append(missing, errors.New("lifecycle: MaintenanceRequest.Reason is required"))
	}
	if len(missing) > 0 {
		return lease.State{}, errors.Join(missing...)
	}
	s, err := l.startMaintenance(ctx, r)
	return s, TargetError(err)
}

func (l *Lifecycle) startMaintenance(ctx context.Context, r MaintenanceRequest) (lease.State, error) {
	s, err := l.Lease.Inspect(ctx)
	switch {
	case err != nil:
		return s, err
	case s.Held && s.Holder == r.Holder:
		return s, nil
	case s.Held && (r.DryRun || r.Wait <= 0):
		return s, l.begin("", nil).blocked(s, nil)
	case r.DryRun:
		return s, nil
	}
	if err := l.Cluster.Prepare(ctx); err != nil {
		return lease.State{}, err
	}
	held, err := l.Lease.Acquire(ctx, lease.Request{Mode: lease.ModeMaintain, Holder: r.Holder, User: l.Actor, Purpose: r.Reason, For: r.For, Wait: r.Wait})
	if other, ok := errors.AsType[*lease.HeldError](err); ok {
		return other.State, l.begin("", nil).blocked(other.State, err)
	}
	if err != nil {
		return lease.State{}, err
	}
	return held.State(), nil
}

// EndMaintenanceRequest ends a maintenance.
type EndMaintenanceRequest struct {
	// Holder is the ID of the maintenance. Required.
	Holder string
	// Timeout is how long the target may take to become healthy. The default is
	// to look once.
	Timeout time.Duration
	// Force ends it whatever the target looks like.
	Force bool
	// DryRun says whether it could end, and changes nothing. It goes by what whoever
	// keeps the target, such as Argo CD, said of it last.
	DryRun bool
}

// EndMaintenance ends a maintenance if the target is healthy and undrifted at
// exactly the receipt that was applied last, and that is the live one; or if
// nothing was ever delivered to it. Otherwise the maintenance stays, and the error
// is a *NotLiveError with what has to be done: deliver under the maintenance, or
// Force. If no such maintenance is on, the error matches lease.ErrLost.
//
// Where somebody else keeps the target, such as Argo CD, it is asked to look before.
//
// The status is what the target looked like.
func (l *Lifecycle) EndMaintenance(ctx context.Context, r EndMaintenanceRequest) (Status, error) {
	held, err := l.Lease.Resume(ctx, r.Holder)
	if err != nil {
		return Status{}, TargetError(err)
	}
	if mode := held.State().Mode; mode != lease.ModeMaintain {
		return Status{}, &lease.LostError{Target: l.Target, Reason: fmt.Sprintf("it is held in mode %s, and is no maintenance", mode), State: held.State()}
	}
	var anew func(context.Context) error
	if !r.DryRun && !r.Force {
		anew = held.Check // what was edited meanwhile counts, also if nobody else knows of it yet
	}
	st, err := l.status(ctx, r.Timeout, anew)
	if err != nil && !r.Force {
		return st, TargetError(err)
	}
	if bad := st.wrong(); len(bad) > 0 && !r.Force {
		return st, &NotLiveError{Target: l.Target, Wrong: bad}
	}
	if r.DryRun {
		return st, nil
	}
	if err := held.Release(ctx); err != nil {
		return st, TargetError(err)
	}
	return st, nil
}

// NotLiveError says why a maintenance cannot end. It is an ErrUnhealthy.
type NotLiveError struct {
	Target string
	Wrong  []string // one line each
}

func (e *NotLiveError) Error() string {
	return fmt.Sprintf("the maintenance of target %q stays, since the target is not live:\n  %s\n"+
		"Deliver under it from where it was begun: kubectl pharos reconcile --maintenance\n"+
		"Or give up: kubectl pharos maintenance off --force", e.Target, strings.Join(e.Wrong, "\n  "))
}

// Is reports that a NotLiveError is an ErrUnhealthy.
func (e *NotLiveError) Is(target error) bool { return target == ErrUnhealthy }

// wrong are the reasons why the target is not live: none if it is, or if nothing
// was ever delivered to it.
func (s Status) wrong() (lines []string) {
	if s.IsLive() {
		return nil
	}
	for _, u := range s.Unreadable {
		lines = append(lines, fmt.Sprintf("%s cannot be read: %v", u.What, u.Err))
	}
	if s.Applied != nil && (s.Live == nil || s.Live.ID != s.Applied.ID) {
		lines = append(lines, fmt.Sprintf("the applied receipt %s was never seen live", s.Applied.ID.Short()))
	}
	for _, u := range s.Observation.Unready {
		lines = append(lines, fmt.Sprintf("%s is not healthy: %s", ObjectName(u.Object), u.Reason))
	}
	for _, d := range s.Observation.Drifted {
		lines = append(lines, fmt.Sprintf("%s drifted: %s", ObjectName(d.Object), d.Reason))
	}
	return lines
}
