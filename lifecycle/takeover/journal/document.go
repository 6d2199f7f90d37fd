package journal

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// Step says how far a session has come. Each is written down before what it names is
// begun, so that it may have been done in full, in part or not at all.
type Step string

// The steps, in their order.
const (
	// Planned: the plan is made, and nothing is written on the target.
	Planned Step = "planned"
	// Published: the agent's image is pushed.
	Published Step = "image-published"
	// Leased: the lease is acquired as Document.Holder, and its gate closed. Until here
	// there are no workloads: they are planned under the lease.
	Leased Step = "leased"
	// Recorded: the session object is created.
	Recorded Step = "session-recorded"
	// Diverted: the workloads are diverted, each when its Workload.State says so.
	Diverted Step = "diverted"
	// Serving: the processes run and are served with the cluster's traffic.
	Serving Step = "serving"
	// HandingBack: the workloads are restored, each when its Workload.State says so.
	HandingBack Step = "handing-back"
	// Restored: all workloads are restored; the session object is deleted.
	Restored Step = "restored"
	// Released: the lease is released.
	Released Step = "released"
)

// Steps returns all steps in their order.
func Steps() []Step {
	return []Step{Planned, Published, Leased, Recorded, Diverted, Serving, HandingBack, Restored, Released}
}

// State says how far a workload has come: like a Step it is written down first.
type State string

// The states of a workload.
const (
	// Untouched: nothing was written to it.
	Untouched State = "untouched"
	// Diverting: it is about to be diverted, or is.
	Diverting State = "diverting"
	// HandedBack: it is as it was, or somebody else has changed it.
	HandedBack State = "handed-back"
)

// Workload is a container that a session diverts.
type Workload struct {
	State     State            `json:"state"`
	Diversion divert.Diversion `json:"diversion"`
}

// Document is what is written down about a session.
type Document struct {
	// Session is the session's random ID.
	Session string `json:"session"`
	// Target is the target's name, Namespace that of its lease and session object.
	// Cluster is the UID of the cluster's kube-system namespace.
	Target    string `json:"target"`
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	// Holder and Token are those of the lease: see lease.Held. The token is zero
	// before it is acquired.
	Holder string `json:"holder"`
	Token  int64  `json:"token"`
	// User is user@host, for people.
	User string `json:"user,omitzero"`
	// Began is when it was planned, on the workstation's clock, for people.
	Began time.Time `json:"began,omitzero"`
	// Step is how far it has come.
	Step Step `json:"step"`
	// Silence is after how many seconds without a heartbeat the workloads are
	// restored though the lease is held; zero for not at all.
	Silence int64 `json:"silence,omitzero"`
	// Workloads are those of the session, in their order.
	Workloads []Workload `json:"workloads"`
	// Ending says that somebody other than the holder puts the workloads back; nil
	// if nobody does.
	Ending *Ending `json:"ending,omitzero"`
	// Key is the session's private key in PEM. It is in the journal alone, and never
	// in the session object.
	Key string `json:"key,omitzero"`
}

// Ending says who puts the workloads of a session back in its holder's stead.
type Ending struct {
	// By is user@host or the controller's pod, Reason why. For people.
	By     string `json:"by"`
	Reason string `json:"reason"`
	// At is when, by the API server's clock.
	At time.Time `json:"at"`
	// Done says that nothing is left to put back.
	Done bool `json:"done,omitzero"`
}

// String names the session and how far it has come. It has neither the key nor what a
// workload's template may hold: a Document can be logged.
func (d Document) String() string {
	return fmt.Sprintf("session %s of target %s at step %s", d.Session, d.Target, d.Step)
}

// LogValue is String.
func (d Document) LogValue() slog.Value { return slog.StringValue(d.String()) }

// SilenceOf is Silence as a duration.
func (d Document) SilenceOf() time.Duration { return time.Duration(d.Silence) * time.Second }
