package argo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Judge says whether the exact commit is live and healthy, by the rule of the
// package comment. A nil Application is one that does not exist.
func Judge(a *Application, w Want) Verdict {
	if a == nil {
		return Verdict{State: Waiting, Reason: "it does not exist"}
	}
	if !a.Metadata.DeletionTimestamp.IsZero() {
		return Verdict{State: Failed, Fault: FaultSpec, Reason: "it is being deleted"}
	}
	if w.Hash != "" && HashSources(a.Sources()) != w.Hash {
		return Verdict{State: Foreign, Reason: foreign(a, w)}
	}
	v := Verdict{}
	for _, r := range a.Status.Resources {
		switch {
		case r.Hook:
			v.Hooks = append(v.Hooks, r.Resource)
		case r.RequiresPruning:
			v.Orphans = append(v.Orphans, r.Resource)
		case r.Status != "" && r.Status != "Synced":
			v.Drifted = append(v.Drifted, r.Resource)
		}
	}
	for _, step := range []func(*Application, Want, *Verdict) bool{
		operationUnderWay, reported, compared, revisionIs, synced, operationSucceeded, upToDate,
	} {
		if !step(a, w, &v) {
			return v
		}
	}
	v.Synced = true
	if (w.Healthy || healthy(a, &v)) && imagesRun(a, w, &v) {
		v.State, v.Reason = Live, "the commit is live and healthy"
	}
	return v
}

func (v *Verdict) is(s State, need Need, format string, args ...any) bool {
	v.State, v.Need, v.Reason = s, need, fmt.Sprintf(format, args...)
	return false
}

func (v *Verdict) failed(s State, f Fault, format string, args ...any) bool {
	v.Fault = f
	return v.is(s, NeedNothing, format, args...)
}

func foreign(a *Application, w Want) string {
	what := "its source was changed"
	for _, s := range a.Sources() {
		if r := s.Text("targetRevision"); w.Commit != "" && r != w.Commit {
			what = fmt.Sprintf("its targetRevision is %q and not the commit", r)
			break
		}
	}
	if manager, at := LastEditor(a); manager != "" {
		return fmt.Sprintf("%s; its spec was last written by %q at %s", what, manager, at.UTC().Format(time.RFC3339))
	}
	return what
}

// parked begins the message of an operation that waits for the end of a window.
const parked = "Sync operation blocked by sync window"

// Parked says whether the Application's operation waits for the end of a sync
// window.
func Parked(a *Application) bool {
	s := a.Status.OperationState
	return s != nil && s.Phase == "Running" && strings.HasPrefix(s.Message, parked)
}

// Busy says whether an operation is set or runs.
func Busy(a *Application) bool {
	s := a.Status.OperationState
	return a.Operation != nil || s != nil && (s.Phase == "Running" || s.Phase == "Terminating")
}

// Operator says who began the operation that is set or runs, and of what
// revision it is.
func Operator(a *Application) string {
	op := a.Operation
	if s := a.Status.OperationState; s != nil && (op == nil || s.Phase == "Running") {
		op = &s.Operation
	}
	if op == nil {
		return "nobody"
	}
	who := op.InitiatedBy.Username
	switch {
	case op.InitiatedBy.Automated:
		who = "the controller"
	case who == "":
		who = "somebody unnamed"
	}
	if op.Sync != nil && op.Sync.Revision != "" {
		who += ", of revision " + short(op.Sync.Revision)
	}
	return who
}

func short(revision string) string { return revision[:min(len(revision), 12)] }

func operationUnderWay(a *Application, w Want, v *Verdict) bool {
	s := a.Status.OperationState
	switch {
	case Parked(a):
		return v.is(Blocked, NeedNothing, "its operation (begun by %s) waits for the end of a sync window", Operator(a))
	case s != nil && (s.Phase == "Running" || s.Phase == "Terminating"):
		name := "an operation runs"
		if !ofSource(a, s) {
			name = "another operation runs (begun by " + Operator(a) + ")"
		}
		v.sets(failures(s))
		if Retrying(s) && ofSource(a, s) && LastOf(a) != w.Before && slices.ContainsFunc(v.Failures, Failure.Final) {
			v.Retrying, v.Retries = true, s.RetryCount
			return v.failed(Failed, FaultSync, "its sync failed in %s (it is tried again in vain: attempt %d)", all(v.Failures), s.RetryCount)
		}
		if s.Message != "" {
			name += ": " + brief(s.Message)
		}
		if len(v.Failures) > 0 {
			name += "; failed: " + all(v.Failures)
		}
		return v.is(Waiting, NeedNothing, "%s", name)
	case a.Operation != nil:
		return v.is(Waiting, NeedNothing, "an operation is set (by %s) and has not begun", Operator(a))
	}
	return true
}

func compared(a *Application, _ Want, v *Verdict) bool {
	if a.RefreshAsked() {
		return v.is(Stale, NeedNothing, "the controller has not answered the request for a refresh")
	}
	c := a.Status.Sync.ComparedTo
	if !SameSources(a.Sources(), several(c.Sources, c.Source)) {
		return v.is(Stale, NeedRefresh, "the controller has not compared it since its source was written")
	}
	return true
}

func revisionIs(a *Application, w Want, v *Verdict) bool {
	if a.Status.Sync.Status == "Unknown" || a.Status.Sync.Status == "" {
		return v.is(Stale, NeedRefresh, "its sync status is not known")
	}
	revisions := a.Revisions()
	for i, s := range a.Sources() {
		if w.Commit == "" || s.Text("targetRevision") != w.Commit {
			continue
		}
		if i >= len(revisions) || revisions[i] != w.Commit {
			return v.is(Stale, NeedRefresh, "it was compared at another revision than the commit")
		}
	}
	return true
}

func synced(a *Application, w Want, v *Verdict) bool {
	s := a.Status.Sync.Status
	if s == "Synced" || s == "OutOfSync" && len(v.Drifted) == 0 && len(v.Orphans) > 0 {
		return true
	}
	if !operationSucceeded(a, w, v) {
		return false
	}
	return v.is(Waiting, NeedSync, "it is %s: %s", s, some(v.Drifted))
}

func some(list []Resource) string {
	if len(list) == 0 {
		return "no resource is named"
	}
	return named(list) + " differs from the commit"
}

func named(list []Resource) string {
	var names []string
	for _, r := range list[:min(len(list), 3)] {
		names = append(names, r.String())
	}
	text := strings.Join(names, ", ")
	if n := len(list) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func operationSucceeded(a *Application, w Want, v *Verdict) bool {
	s := a.Status.OperationState
	if s == nil || s.Phase == "Succeeded" || LastOf(a) == w.Before || !ofSource(a, s) {
		return true
	}
	if s.Phase != "Failed" && s.Phase != "Error" {
		return v.is(Waiting, NeedNothing, "its last operation is %q", s.Phase)
	}
	v.sets(failures(s))
	if len(v.Failures) == 0 {
		return v.failed(Failed, FaultSync, "its sync failed: %s", brief(s.Message))
	}
	return v.failed(Failed, FaultSync, "its sync failed in %s", all(v.Failures))
}

// ofSource says whether an operation is one of the Application's source as it is
// now.
func ofSource(a *Application, s *OperationState) bool {
	if r := s.SyncResult; r != nil {
		return SameSources(a.Sources(), several(r.Sources, r.Source))
	}
	o := s.Operation.Sync
	if o == nil {
		return false
	}
	if len(o.Sources) > 0 || len(o.Source) > 0 {
		return SameSources(a.Sources(), several(o.Sources, o.Source))
	}
	return slices.ContainsFunc(a.Sources(), func(src Source) bool { return o.Revision != "" && src.Text("targetRevision") == o.Revision })
}

func upToDate(a *Application, _ Want, v *Verdict) bool {
	s := a.Status.OperationState
	if s != nil && !s.FinishedAt.IsZero() && a.Status.ReconciledAt.Time.Before(s.FinishedAt.Time) {
		return v.is(Stale, NeedRefresh, "the controller has not looked since its last operation ended")
	}
	return true
}

func healthy(a *Application, v *Verdict) bool {
	h := a.Status.Health
	if h.Status == "Healthy" {
		return true
	}
	reason := "it is " + h.Status
	if h.Status == "" {
		reason = "its health is not known"
	}
	if h.Message != "" {
		reason += ": " + h.Message
	}
	for _, r := range a.Status.Resources {
		if r.Health == nil || r.Health.Status == "Healthy" || r.Health.Status == "" {
			continue
		}
		if v.Resource.Kind == "" || r.Health.Status == "Degraded" {
			v.Resource = r.Resource
		}
		reason += fmt.Sprintf("; %s is %s", r.Resource, r.Health.Status)
		if r.Health.Message != "" {
			reason += ": " + r.Health.Message
		}
	}
	if len(v.Orphans) > 0 {
		reason += "; counted is also what the commit does not declare: " + named(v.Orphans)
	}
	if h.Status == "Degraded" {
		return v.failed(Failed, FaultHealth, "%s", reason)
	}
	return v.is(Waiting, NeedNothing, "%s", reason)
}

// imagesRun wants each image that the source sets by digest to be among those
// of the live pods, unless none of its repository is.
func imagesRun(a *Application, w Want, v *Verdict) bool {
	for _, s := range a.Sources() {
		for _, entry := range s.Images() {
			_, image, ok := strings.Cut(entry, "=")
			if !ok || !slices.Contains(w.Images, image) || slices.Contains(a.Status.Summary.Images, image) {
				continue
			}
			repository, _, _ := strings.Cut(image, "@")
			for _, runs := range a.Status.Summary.Images {
				if runs == repository || strings.HasPrefix(runs, repository+"@") || strings.HasPrefix(runs, repository+":") {
					return v.is(Waiting, NeedNothing, "%s runs, and not yet %s", runs, image)
				}
			}
		}
	}
	return true
}
