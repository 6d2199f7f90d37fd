package argocd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
)

// action is what comes next for an Application whose gate was opened.
type action string

const (
	// wait: Argo CD is at it, or has to be.
	wait action = "wait"
	// unpark: an operation waited for the end of a window, and would bring its own
	// revision now.
	unpark action = "unpark"
	// refresh: the controller has to look, since nothing tells it that a window has
	// ended.
	refresh action = "refresh"
	// nudge: it has not heard.
	nudge action = "nudge"
	// resync: it would not restore what is declared by itself.
	resync action = "sync"
	// blocked: other people's windows keep it from being synced.
	blocked action = "blocked"
	// settled: it is what is declared.
	settled action = "settled"
	// failed: it does not become so without a person.
	failed action = "failed"
)

// step is the next step of an Application.
type step struct {
	do     action
	reason string // one line, for wait, blocked and failed
}

// past is what was done to an Application since its gate was opened, and what
// stands around it.
type past struct {
	// asked says that the controller was asked to look, synced that a sync was
	// asked for.
	asked, synced bool
	// before is the operation that was the last one when the gate was opened, or
	// when the sync was asked for.
	before argo.Last
	// lasts is how long it has been as it is, answer how long the controller is given
	// to do by itself what it should.
	lasts, answer time.Duration
	// closed is a window of somebody else.
	closed *argo.Closed
}

func (p past) late() bool { return p.lasts > p.answer }

// holds is how long nothing must have differed. The controller learns of what is
// changed on the cluster by watches, and so a little later: it may not know yet of
// the last thing that was changed under the lease.
const holds = 3 * time.Second

// settle says what comes next. It is a function of what it is given, so that it
// can go on in another process: what was done there is done once more at most.
//
// What is compared before the controller was asked to look says nothing: it may
// have been compared before what was changed under the lease was changed. It is
// asked only while nobody else's question is open, since the controller takes an
// answer to that one for one to both.
func settle(a *argo.Application, p past) step {
	if a == nil || !a.Metadata.DeletionTimestamp.IsZero() {
		return step{do: settled} // nobody declares it any more
	}
	switch {
	case argo.Parked(a) && p.closed == nil:
		return step{do: unpark}
	case argo.Unheard(a) && p.late():
		return step{do: nudge}
	case a.RefreshAsked():
		return step{wait, "the controller has not answered the request for a refresh"}
	case !p.asked && !argo.Busy(a):
		return step{do: refresh}
	}
	v := argo.Judge(a, argo.Want{Before: p.before})
	switch {
	case v.Synced && p.lasts < holds:
		return step{wait, "nothing differs in it, as far as the controller knows"}
	case v.Synced:
		return step{do: settled}
	case v.Need == argo.NeedSync:
		return outOfSync(a, p, v.Reason)
	case v.State == argo.Failed && lasting(v.Fault):
		return step{failed, v.Reason}
	case p.closed != nil && argo.Parked(a):
		return step{blocked, v.Reason + "; " + p.closed.Reason}
	case v.Need == argo.NeedRefresh && p.late():
		return step{do: refresh}
	}
	return step{wait, v.Reason}
}

// lasting says whether a fault stays until a person does something. The Git
// server and the cluster may answer later.
func lasting(f argo.Fault) bool { return f != argo.FaultRepository && f != argo.FaultCluster }

// outOfSync decides about an Application in which something differs from what is
// declared.
func outOfSync(a *argo.Application, p past, reason string) step {
	switch {
	case p.closed != nil:
		return step{blocked, reason + "; " + p.closed.Reason}
	case p.synced && !p.late():
		return step{wait, reason} // it may have been compared before the sync had ended
	case p.synced:
		return step{failed, "it was synced, and still differs: " + reason}
	case !a.Automated() && !wasAt(a):
		return step{failed, fmt.Sprintf("%s; its policy is manual, and it was not at the revision %s before: sync it when that is wanted: argocd app sync %s",
			reason, strings.Join(a.Revisions(), ", "), a.Metadata.Name)}
	case restores(a) && !p.late():
		return step{wait, reason + ", which Argo CD restores"}
	}
	return step{do: resync}
}

// restores says whether the controller begins a sync by itself, as of 3.2: of what
// it has not tried yet, and again, with self-heal, where it succeeded.
func restores(a *argo.Application) bool {
	s := a.Status.OperationState
	switch {
	case !a.Automated():
		return false
	case s == nil:
		return true
	case s.SyncResult == nil:
		return s.Phase == "Running"
	case !same(a, s.SyncResult.Revision, s.SyncResult.Revisions, s.SyncResult.Source, s.SyncResult.Sources):
		return true
	}
	return s.Phase == "Succeeded" && a.Spec.SyncPolicy.Automated.SelfHeal
}

// wasAt says whether the last full sync that succeeded was of what is compared
// now.
func wasAt(a *argo.Application) bool {
	if len(a.Status.History) == 0 {
		return false
	}
	h := a.Status.History[len(a.Status.History)-1]
	return same(a, h.Revision, h.Revisions, h.Source, h.Sources)
}

// same says whether a sync was of what is compared now.
func same(a *argo.Application, revision string, revisions []string, source argo.Source, sources []argo.Source) bool {
	if !a.Several() {
		revisions, sources = []string{revision}, []argo.Source{source}
	}
	return slices.Equal(revisions, a.Revisions()) && argo.SameSources(sources, a.Sources())
}

// ops are what a step writes, nil for one that writes nothing.
func (s step) ops(a *argo.Application) []argo.Op {
	switch s.do {
	case unpark:
		return argo.UnparkOps(a)
	case refresh:
		return argo.RefreshOps(a, "normal")
	case nudge:
		return argo.NudgeOps(a)
	case resync:
		return argo.SyncOps(a, a.Revisions())
	}
	return nil
}
