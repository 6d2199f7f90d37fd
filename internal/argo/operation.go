package argo

import "encoding/json"

// User is who Pharos's operations are begun by.
const User = "pharos"

// SyncOps are a full sync of what the spec says, which deletes nothing. Where
// revisions are given, one for each source, it is pinned to them. They are nil
// while another operation is set or runs: the version that was read is part of a
// patch, so that none has been set since.
func SyncOps(a *Application, revisions []string) []Op {
	if Busy(a) {
		return nil
	}
	sync := map[string]any{"prune": false, "syncStrategy": map[string]any{"hook": map[string]any{}}}
	switch {
	case len(revisions) == 0:
	case a.Several():
		sync["revisions"] = revisions
	default:
		sync["revision"] = revisions[0]
	}
	op := map[string]any{"sync": sync, "initiatedBy": map[string]any{"username": User}}
	if p := a.Spec.SyncPolicy; p != nil {
		if len(p.SyncOptions) > 0 {
			sync["syncOptions"] = p.SyncOptions
		}
		if len(p.Retry) > 0 && string(p.Retry) != "null" {
			op["retry"] = json.RawMessage(p.Retry)
		}
	}
	return []Op{{Op: "add", Path: "/operation", Value: op}}
}

// UnparkOps take away an operation that waits for the end of a sync window: it
// would bring its own revision then, whatever is declared by that time. They are
// nil if there is none.
func UnparkOps(a *Application) []Op {
	if !Parked(a) {
		return nil
	}
	ops := []Op{{Op: "remove", Path: "/status/operationState"}}
	if a.Operation != nil {
		ops = append(ops, Op{Op: "remove", Path: "/operation"})
	}
	return ops
}

// Abandoned says whether an operation is said to run that nobody goes on with, since
// somebody took away the field operation: the controller goes by that, and takes it
// away together with its last word. It would take the next one for this one.
func Abandoned(a *Application) bool {
	s := a.Status.OperationState
	return a.Operation == nil && s != nil && (s.Phase == "Running" || s.Phase == "Terminating")
}

// AbandonedOps take away what is said of an abandoned operation. They are nil if
// there is none.
func AbandonedOps(a *Application) []Op {
	if !Abandoned(a) {
		return nil
	}
	return []Op{{Op: "remove", Path: "/status/operationState"}}
}

// RefreshOps ask the controller to look, "normal" or "hard". They are nil if it
// has been asked to, in that way, and has not answered.
func RefreshOps(a *Application, kind string) []Op {
	if a.Metadata.Annotations[RefreshAnnotation] == kind {
		return nil
	}
	var ops []Op
	if a.Metadata.Annotations == nil {
		ops = append(ops, Op{Op: "add", Path: "/metadata/annotations", Value: map[string]string{}})
	}
	return append(ops, Op{Op: "add", Path: PointerTo("metadata", "annotations", RefreshAnnotation), Value: kind})
}

// Unheard says whether the controller has not taken up what it was asked for: a
// refresh, or an operation that waits for no other.
func Unheard(a *Application) bool {
	s := a.Status.OperationState
	runs := s != nil && (s.Phase == "Running" || s.Phase == "Terminating")
	return !runs && (a.RefreshAsked() || a.Operation != nil)
}

// NudgeOps ask for a refresh, or once more in the other way. The controller loses
// what comes while it writes the status: it puts what it wrote into its cache over
// what it has been told since, and looks there until it is told of another change.
func NudgeOps(a *Application) []Op {
	if a.Metadata.Annotations[RefreshAnnotation] == "normal" {
		return RefreshOps(a, "hard")
	}
	return RefreshOps(a, "normal")
}
