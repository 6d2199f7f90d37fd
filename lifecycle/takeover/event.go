package takeover

import (
	"errors"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// EventVersion is the version of the events: of their fields and types. Within a
// version fields and types are only added.
const EventVersion = 1

// EventType says what an event reports.
type EventType string

// The types of event, in the order of a session. Each but EventStarted, EventStep and
// EventWaiting is sent after the durable effect that it names.
const (
	// EventStarted: a session begins, or goes on: Event.Resumed.
	EventStarted EventType = "started"
	// EventStep: the journal has the step, and what it names begins: Event.Step.
	EventStep EventType = "step"
	// EventPlanned: everything was read and decided: Event.Plan.
	EventPlanned EventType = "planned"
	// EventPublished: the registry has the agent's image for a workload.
	EventPublished EventType = "agent-published"
	// EventLeaseAcquired: the target is borrowed, and what heals it keeps away:
	// Event.Until.
	EventLeaseAcquired EventType = "lease-acquired"
	// EventRecorded: the session object is on the target.
	EventRecorded EventType = "session-recorded"
	// EventForwards: Services are at ports of this machine, or one of them has begun or
	// ceased to work: Event.Forwards.
	EventForwards EventType = "forwards"
	// EventReady: the process of a workload is ready on this machine.
	EventReady EventType = "process-ready"
	// EventDiverted: the API server has the agent in a workload's container.
	EventDiverted EventType = "diverted"
	// EventWaiting: pods are waited for, or that an outage is over: Event.Pods,
	// Event.Reason.
	EventWaiting EventType = "waiting"
	// EventServing: every pod of a workload is the agent's, and served from here.
	EventServing EventType = "serving"
	// EventProcess: something happened to the process of a workload: Event.Process.
	EventProcess EventType = "process"
	// EventConnection: the connections to a workload's agents changed: Event.Reason.
	EventConnection EventType = "connection"
	// EventHeld: nothing is served until it is known who has the target: Event.Reason.
	EventHeld EventType = "held"
	// EventLeaseLost: somebody else may write to the target: Event.Reason.
	EventLeaseLost EventType = "lease-lost"
	// EventWarning: something a person should know: Event.Reason.
	EventWarning EventType = "warning"
	// EventUnedited: the images of the working tree are the receipt's again, by which
	// everything is handed back: Event.Reason.
	EventUnedited EventType = "unedited"
	// EventRestored: a workload's spec is as it was: Event.Outcome, Event.Kept.
	EventRestored EventType = "restored"
	// EventAgentsGone: no pod of a workload has the agent any more.
	EventAgentsGone EventType = "agents-gone"
	// EventStopped: the process of a workload has ended, with all that it had.
	EventStopped EventType = "process-stopped"
	// EventForgotten: the session object is not on the target any more.
	EventForgotten EventType = "session-removed"
	// EventReturned: the target is as the receipt says, at that commit, and free.
	EventReturned EventType = "returned"
	// EventFinished: the session has ended here: Event.Error is empty if all is as it
	// was.
	EventFinished EventType = "finished"
)

// EventTypes returns all types of event, in the order of a session.
func EventTypes() []EventType {
	return []EventType{EventStarted, EventStep, EventPlanned, EventPublished, EventLeaseAcquired, EventRecorded, EventForwards, EventReady, EventDiverted, EventWaiting, EventServing,
		EventProcess, EventConnection, EventHeld, EventLeaseLost, EventWarning, EventUnedited, EventRestored, EventAgentsGone, EventStopped, EventForgotten, EventReturned, EventFinished}
}

// Event is one thing that happened to a session. It carries no value of an
// environment, no credential and no output of a program.
type Event struct {
	Version int       `json:"version"` // EventVersion
	Type    EventType `json:"type"`
	Time    time.Time `json:"time"` // UTC
	Session string    `json:"session,omitempty"`
	Target  string    `json:"target"`
	// Workload is "Deployment shop/api", for events of one, and Image that of the
	// catalogue.
	Workload string `json:"workload,omitempty"`
	Image    string `json:"image,omitempty"`

	Resumed bool         `json:"resumed,omitempty"`
	Step    journal.Step `json:"step,omitempty"`
	Plan    *Plan        `json:"plan,omitempty"`
	// Covers and Until are those of the lease.
	Covers  []string       `json:"covers,omitempty"`
	Until   time.Time      `json:"until,omitzero"`
	Pods    *Pods          `json:"pods,omitempty"`
	Process *runtime.Event `json:"process,omitempty"`
	// Forwards are all of a workload, as they are then.
	Forwards []ForwardStatus `json:"forwards,omitempty"`
	// Outcome and Kept are those of a restore: Kept names the fields that somebody
	// else has changed, and that stay as they are.
	Outcome string   `json:"outcome,omitempty"`
	Kept    []string `json:"kept,omitempty"`
	// Reason is for people, in one line.
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	// Class says what kind of error it is: see ClassOf.
	Class string `json:"class,omitempty"`
}

// ClassOf is the kind of an error in one word: "unchanged" and "usage" for ErrUnchanged
// and ErrUnknownWorkload, "source" for what an edit mends, "blocked", "unhealthy",
// "unreachable"; empty for another.
func ClassOf(err error) string {
	if _, ok := errors.AsType[*catalogue.ProblemsError](err); ok {
		return "source" // whoever reads a file of the working tree says what is wrong in it
	}
	for _, class := range classes {
		if errors.Is(err, class.err) {
			return class.name
		}
	}
	return ""
}

// ErrorOf is what every error of a class matches; nil for no class of ClassOf.
func ErrorOf(class string) error {
	for _, c := range classes {
		if c.name == class {
			return c.err
		}
	}
	return nil
}

// classes are the kinds of errors, the most telling first.
var classes = []struct {
	name string
	err  error
}{
	{"unchanged", ErrUnchanged}, {"usage", ErrUnknownWorkload}, {"blocked", lifecycle.ErrBlocked}, {"source", lifecycle.ErrSource}, {"unhealthy", lifecycle.ErrUnhealthy}, {"unreachable", lifecycle.ErrUnreachable},
}

// finished is the last event of a session.
func finished(err error) Event {
	e := Event{Type: EventFinished, Class: ClassOf(err)}
	if err != nil {
		e.Error = err.Error()
	}
	return e
}

// Pods counts the pods of a workload.
type Pods struct {
	// Wanted is how many there are to be, Agents how many have the agent, and Others how
	// many have the original.
	Wanted int `json:"wanted"`
	Agents int `json:"agents"`
	// Connected is how many with the agent are served from here, without those that
	// terminate.
	Connected int `json:"connected"`
	Others    int `json:"others"`
	// AgentsEnding and OthersEnding are how many of Agents and of Others terminate.
	AgentsEnding int `json:"agentsEnding,omitempty"`
	OthersEnding int `json:"othersEnding,omitempty"`
}

// Sink receives events, from one goroutine at a time. It should return quickly: the
// session waits for it.
type Sink func(Event)

func (s *Session) emit(e Event) {
	if s.Events == nil {
		return
	}
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	s.sending.Lock()
	defer s.sending.Unlock()
	e.Version, e.Time, e.Target, e.Session = EventVersion, s.Clock.Now().UTC(), s.Lifecycle.Target, id
	s.Events(e)
}

func (s *Session) emitOf(p *part, e Event) {
	e.Workload, e.Image = p.workload.Subject(), p.workload.Image
	s.emit(e)
}

// warnAll tells what a plan warns of.
func (s *Session) warnAll(list []lifecycle.Finding) {
	for _, w := range list {
		s.emit(Event{Type: EventWarning, Workload: w.Subject, Reason: w.Message})
	}
}
