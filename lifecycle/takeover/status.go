package takeover

import (
	"slices"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// Status is how a session is. It has no value of an environment, and no credential.
type Status struct {
	Session string `json:"session,omitempty"`
	Target  string `json:"target"`
	// Step is the journal's, and Began when the session was planned.
	Step  journal.Step `json:"step,omitempty"`
	Began time.Time    `json:"began,omitzero"`
	// Covers are the Applications that the lease covers. Until is when the lease ends
	// if it is not renewed; zero while the session does not have it.
	Covers []string  `json:"covers,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	// Workloads are those of the session.
	Workloads []WorkloadStatus `json:"workloads"`
}

// WorkloadStatus is how a workload of a session is.
type WorkloadStatus struct {
	Workload  string `json:"workload"` // "Deployment shop/api"
	Container string `json:"container"`
	Image     string `json:"image,omitempty"`
	State     State  `json:"state"`
	// Reason says in one line why it is not served, where it was: StateReplaced,
	// StateNotServed.
	Reason string `json:"reason,omitempty"`
	// Serving says that State is StateServing.
	Serving bool `json:"serving"`
	// Process is what runs on this machine; nil if nothing does.
	Process *runtime.State `json:"process,omitempty"`
	Command []string       `json:"command,omitempty"`
	// Forwards are the Services that are at ports of this machine.
	Forwards []ForwardStatus `json:"forwards,omitempty"`
}

// ForwardStatus is a Service of the cluster that is at a port of this machine, for the
// process of a workload and for a browser.
type ForwardStatus struct {
	// Service is that of the Forward: "postgres:5432", or "search.data:9200".
	Service string `json:"service"`
	// Address is where it is: "127.0.0.1:23511".
	Address string `json:"address"`
	// Pod is where connections go; empty while that is not known, or it does not work.
	Pod string `json:"pod,omitempty"`
	// Reason says in one line why it does not work; empty if it does.
	Reason string `json:"reason,omitempty"`
}

// State is how far a workload has come, as it is told.
type State string

// The states of a workload, in their order.
const (
	// StateUntouched: nothing was written to it.
	StateUntouched State = "untouched"
	// StateDiverting: it is about to be diverted, or is, and is not served by every pod.
	StateDiverting State = "diverting"
	// StateServing: every pod has the agent, and is served from here, or was when that
	// was looked at last.
	StateServing State = "serving"
	// StateNotServed: every pod has the agent, and no process on this machine serves:
	// callers are told 503 until it runs again. WorkloadStatus.Reason says why.
	StateNotServed State = "not-served"
	// StateReplaced: somebody else has replaced the agent, and pods that do not have it
	// are not served from here. WorkloadStatus.Reason says who. What they have set stays,
	// until a delivery.
	StateReplaced State = "replaced"
	// StateHandingBack: it is put back, and served until its last agent is gone.
	StateHandingBack State = "handing-back"
	// StateHandedBack: it is as it was, or somebody else has changed it.
	StateHandedBack State = "handed-back"
)

// workloadState tells how a workload is of which the journal has that state.
func workloadState(written journal.State, p partStatus) (_ State, why string) {
	switch idle := p.idle(); {
	case written == journal.HandedBack:
		return StateHandedBack, ""
	case written != journal.Diverting:
		return StateUntouched, ""
	case p.returning:
		return StateHandingBack, ""
	case p.replaced != "":
		return StateReplaced, p.replaced
	case p.serving && idle != "":
		return StateNotServed, idle
	case p.serving:
		return StateServing, ""
	}
	return StateDiverting, ""
}

// partStatus is how a part is on this machine.
type partStatus struct {
	serving, returning bool
	replaced           string
	process            *runtime.State // nil if none runs
}

// idle is why nobody on this machine answers callers; empty while somebody does, or is
// about to, for whom they wait.
func (p partStatus) idle() string {
	if p.process == nil {
		return ""
	}
	switch s := p.process; s.Phase {
	case runtime.Crashed, runtime.Parked:
		return "its process does not run: " + s.Reason
	case runtime.Failed:
		return "no process of it runs: it could not be built"
	case runtime.Building:
		return "no process of it runs: the first one is built"
	case runtime.Starting:
		return s.Reason // it does not listen yet, and nobody waits for it any longer
	case runtime.Stopped:
		return "its process is not run any more"
	}
	return ""
}

// Status returns how the session is. It asks nobody.
func (s *Session) Status() Status {
	s.mu.Lock()
	doc, parts, held := s.doc, slices.Clone(s.parts), s.held
	processes, are, forwards := make([]Process, len(parts)), make([]partStatus, len(parts)), make([][]ForwardStatus, len(parts))
	for i, p := range parts {
		are[i] = partStatus{serving: p.serving && held != nil, returning: p.returning || isReturned(doc.Step), replaced: p.replaced}
		processes[i], forwards[i] = p.process, p.forwards
	}
	s.mu.Unlock()
	st := Status{Session: doc.Session, Target: s.Lifecycle.Target, Step: doc.Step, Began: doc.Began, Workloads: []WorkloadStatus{}}
	if held != nil {
		state := held.State()
		st.Covers, st.Until = state.Covers, state.Expires
	}
	for i, p := range parts {
		w := WorkloadStatus{Workload: p.workload.Subject(), Container: p.workload.Container, Image: p.workload.Image, State: StateUntouched, Command: p.workload.Command, Forwards: forwards[i]}
		if processes[i] != nil {
			state := processes[i].State()
			w.Process, are[i].process = &state, &state
		}
		for _, d := range doc.Workloads {
			if d.Diversion.Namespace == p.workload.Namespace && d.Diversion.Name == p.workload.Name {
				w.State, w.Reason = workloadState(d.State, are[i])
			}
		}
		w.Serving = w.State == StateServing
		st.Workloads = append(st.Workloads, w)
	}
	return st
}

// isReturned says whether all workloads are handed back, or were.
func isReturned(step journal.Step) bool { return reached(step, journal.HandingBack) }

// reached says that a session has come to a step, or further.
func reached(now, step journal.Step) bool {
	steps := journal.Steps()
	return slices.Index(steps, now) >= slices.Index(steps, step)
}

// setServing keeps whether a workload is served from here.
func (s *Session) setServing(p *part, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.serving = is
	if is {
		p.replaced = ""
	}
}

// StatusOf is how a session is that does not run, by its journal.
func StatusOf(doc journal.Document) Status {
	st := Status{Session: doc.Session, Target: doc.Target, Step: doc.Step, Began: doc.Began, Workloads: []WorkloadStatus{}}
	for _, w := range doc.Workloads {
		state, _ := workloadState(w.State, partStatus{returning: isReturned(doc.Step)})
		st.Workloads = append(st.Workloads, WorkloadStatus{Workload: w.Diversion.String(), Container: w.Diversion.Container, State: state})
	}
	return st
}
