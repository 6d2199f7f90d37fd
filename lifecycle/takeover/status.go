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
	// Serving says that every pod has the agent, and was served from here when that
	// was waited for last.
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
	// StateServing: every pod has the agent, and is served from here.
	StateServing State = "serving"
	// StateHandingBack: it is put back, and served until its last agent is gone.
	StateHandingBack State = "handing-back"
	// StateHandedBack: it is as it was, or somebody else has changed it.
	StateHandedBack State = "handed-back"
)

// workloadState tells how a workload is of which the journal has that state.
func workloadState(written journal.State, serving, returning bool) State {
	switch {
	case written == journal.HandedBack:
		return StateHandedBack
	case written != journal.Diverting:
		return StateUntouched
	case returning:
		return StateHandingBack
	case serving:
		return StateServing
	}
	return StateDiverting
}

// Status returns how the session is. It asks nobody.
func (s *Session) Status() Status {
	s.mu.Lock()
	doc, parts, held := s.doc, slices.Clone(s.parts), s.held
	processes, serving, returning, forwards := make([]Process, len(parts)), make([]bool, len(parts)), make([]bool, len(parts)), make([][]ForwardStatus, len(parts))
	for i, p := range parts {
		processes[i], serving[i], returning[i], forwards[i] = p.process, p.serving && held != nil, p.returning || isReturned(doc.Step), p.forwards
	}
	s.mu.Unlock()
	st := Status{Session: doc.Session, Target: s.Lifecycle.Target, Step: doc.Step, Began: doc.Began, Workloads: []WorkloadStatus{}}
	if held != nil {
		state := held.State()
		st.Covers, st.Until = state.Covers, state.Expires
	}
	for i, p := range parts {
		w := WorkloadStatus{Workload: p.workload.Subject(), Container: p.workload.Container, Image: p.workload.Image, State: StateUntouched, Serving: serving[i], Command: p.workload.Command, Forwards: forwards[i]}
		for _, d := range doc.Workloads {
			if d.Diversion.Namespace == p.workload.Namespace && d.Diversion.Name == p.workload.Name {
				w.State = workloadState(d.State, serving[i], returning[i])
			}
		}
		if processes[i] != nil {
			state := processes[i].State()
			w.Process = &state
		}
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
}

// StatusOf is how a session is that does not run, by its journal.
func StatusOf(doc journal.Document) Status {
	st := Status{Session: doc.Session, Target: doc.Target, Step: doc.Step, Began: doc.Began, Workloads: []WorkloadStatus{}}
	for _, w := range doc.Workloads {
		st.Workloads = append(st.Workloads, WorkloadStatus{Workload: w.Diversion.String(), Container: w.Diversion.Container, State: workloadState(w.State, false, isReturned(doc.Step))})
	}
	return st
}
