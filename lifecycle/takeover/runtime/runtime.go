package runtime

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

var (
	// ErrInvalid is returned for a Config that breaks a rule.
	ErrInvalid = errors.New("invalid")
	// ErrUnsupported is returned on a system on which programs cannot be run so.
	ErrUnsupported = errors.New("not supported on this system")
	// ErrPortInUse is returned by Run when a port of the program is taken as it
	// starts. The error is a *PortError.
	ErrPortInUse = errors.New("the port is in use")
	// ErrNotServing is returned by Dial when there is nobody to connect to.
	ErrNotServing = errors.New("the local process is not serving")
	// ErrCrashed is returned by Restart for a process that ends by itself, or cannot be
	// started.
	ErrCrashed = errors.New("it does not stay up")
)

// Runtime runs one workload's program. It is safe for concurrent use; Run is
// called once.
type Runtime interface {
	// Run starts the program and keeps it up with edits until ctx ends; it returns
	// nil when all that it started has ended. That ends, too, when this process is
	// killed. An error is one that no edit mends, such as ErrPortInUse at the start.
	Run(ctx context.Context) error
	// Dial connects to what the program serves at a port of the container. While the
	// program is exchanged, or still starts, it waits, up to Config.Hold. What it
	// returns has CloseWrite, by which each side ends only what it says itself. The error matches ErrNotServing at once when the program
	// has crashed, is parked or could not be built, and when nobody listens.
	Dial(ctx context.Context, port uint16) (net.Conn, error)
	// State is what it does now.
	State() State
	// Restart builds and starts the program anew, as a person asks: what is parked
	// has its full budget again. It returns when the new process listens on all its
	// ports, or long does not (EventSilent). Errors: a *BuildError if it cannot be built,
	// and what ran before goes on; ErrCrashed if it does not stay up until then;
	// ErrNotServing when Run has ended.
	Restart(ctx context.Context) error
}

// Port is a port of the container, and where the local process listens for it, on
// the loopback interface.
type Port struct {
	Container uint16
	// Local is the process's port. The default is Container.
	Local uint16
}

// Spec says what is run.
type Spec struct {
	// Name is the image's, for people and events. Required.
	Name string
	// Root is the working tree's folder, absolute. Required.
	Root string
	// Inputs are the image's: a change of one of them is an edit. Required.
	Inputs catalogue.Patterns
	// Go is the Go program that is built and run. Of its recipe Package, LDFlags,
	// Tags, Env and Toolchain count. Either Go or Command is set.
	Go *catalogue.GoBuild
	// Command is the program and its arguments. A name without a slash is looked for
	// in the PATH of Env, a path with one in Dir.
	Command []string
	// Reload is how Command takes up an edit. The default is catalogue.ReloadRestart.
	Reload catalogue.Reload
	// Signal is what Command is sent at an edit with catalogue.ReloadSignal, such as
	// "SIGHUP", the default, or "SIGUSR1".
	Signal string
	// Args are the arguments of the Go program.
	Args []string
	// Dir is the folder in which the process runs, absolute. The default is Root.
	Dir string
	// Env is the whole environment of the process, as "NAME=value": nothing is added
	// to it. It is kept in memory only.
	Env []string
	// Ports are those on which the process listens. It is ready when it listens on all
	// of them. Without any it is ready when it has started.
	Ports []Port
	// Grace is how long the process may take to end, together with the requests that
	// are under way. The default is 10 s.
	Grace time.Duration
}

// Config says what is run, and with what.
type Config struct {
	Spec
	// Store keeps the restart budget: supervise.NewFile, in a folder of its own.
	// Required.
	Store supervise.Store
	// Policy is the restart budget. The default of Pause is 1 s, and that of
	// LongestPause 30 s; the first restart comes at once. Failures is always 1.
	Policy supervise.Policy
	// Temp is an existing folder, absolute, in which a private one for programs that
	// are built is made, and removed at the end. Required for Go.
	Temp string
	// Environ is the user's environment, as os.Environ has it: where go and git are
	// found, and their caches. None of it reaches the process. Required.
	Environ []string
	// Output receives what the process and builds print: one whole line with each
	// Write, of up to 64 KiB, longer ones in pieces, of which only the last one ends the
	// line. It is called by one goroutine at a time; while it does not return the process may have to wait. The default
	// discards it.
	Output io.Writer
	// Observed is told each Event after it happened, one at a time. It may call State,
	// and must not wait for the Runtime. The default discards it.
	Observed func(Event)
	// Hold is how long Dial waits at most. The default is 20 s.
	Hold time.Duration
	// Polling never asks the system for file events.
	Polling bool
}

// Phase is what a Runtime does.
type Phase string

// The values of Phase.
const (
	Building Phase = "building" // the first program is built: nobody serves
	Starting Phase = "starting" // the process does not listen on all its ports yet
	Serving  Phase = "serving"  // it listens
	Swapping Phase = "swapping" // the process is ended, to be started anew
	Failed   Phase = "failed"   // it could not be built, and none runs: the next edit tries again
	Crashed  Phase = "crashed"  // it ended by itself, and is restarted at State.Next
	Parked   Phase = "parked"   // it is restarted no more until an edit, or a person
	Stopped  Phase = "stopped"  // Run has ended, or not begun
)

// State is what a Runtime does at a time.
type State struct {
	Phase Phase `json:"phase"`
	// Generation counts the processes that were started, from 1.
	Generation int `json:"generation"`
	// PID is that of the process, 0 if none runs.
	PID int `json:"pid,omitzero"`
	// Since is since when the phase lasts.
	Since time.Time `json:"since,omitzero"`
	// Building says that the next program is built while this one serves.
	Building bool `json:"building,omitzero"`
	// Problems are those of the last build, if it failed.
	Problems []Problem `json:"problems,omitzero"`
	// Reason says why it has crashed, is parked, or long does not listen, for people.
	Reason string `json:"reason,omitzero"`
	// Next is when it is restarted after a crash.
	Next time.Time `json:"next,omitzero"`
	// Restarts is how much of the restart budget is used up.
	Restarts int `json:"restarts,omitzero"`
}

// Problem is what a build says of a place in a file.
type Problem struct {
	// File is the path from the working tree's root with slashes; absolute for one
	// outside of it, and empty where the build names none.
	File string `json:"file,omitzero"`
	// Line and Column count from 1; they are 0 where the build names none.
	Line    int    `json:"line,omitzero"`
	Column  int    `json:"column,omitzero"`
	Message string `json:"message"`
}

// EventType is what has happened.
type EventType string

// The values of EventType.
const (
	EventChanged     EventType = "changed"      // files were edited: Paths
	EventPolling     EventType = "polling"      // files are looked at again and again: Reason
	EventWatching    EventType = "watching"     // edits are seen again, after polling or trouble: Reason
	EventBuilding    EventType = "building"     // a build has begun
	EventBuilt       EventType = "built"        // it succeeded: Took
	EventBuildFailed EventType = "build-failed" // it failed: Problems, Took; PID is the process that goes on, 0 if there is none
	EventStarted     EventType = "started"      // a process was started: Generation, PID
	EventReady       EventType = "ready"        // it listens on all its ports: Took, from its start
	EventSilent      EventType = "silent"       // it still does not listen on all its ports: Reason
	EventSignalled   EventType = "signalled"    // it was sent the signal to reload: Reason
	EventStopping    EventType = "stopping"     // it is asked to end
	EventStopped     EventType = "stopped"      // it has ended as asked: Took; Reason if it was killed
	EventCrashed     EventType = "crashed"      // it ended by itself, or could not start: Reason, Next
	EventParked      EventType = "parked"       // it is restarted no more: Reason
	EventTrouble     EventType = "trouble"      // something else went wrong, and is tried again: Reason
)

// Event is something that happened. It has no line of output, and no value of the
// environment.
type Event struct {
	Time       time.Time     `json:"time"`
	Type       EventType     `json:"type"`
	Name       string        `json:"name"`
	Generation int           `json:"generation,omitzero"`
	PID        int           `json:"pid,omitzero"`
	Paths      []string      `json:"paths,omitzero"`
	Problems   []Problem     `json:"problems,omitzero"`
	Took       time.Duration `json:"took,omitzero"`
	Reason     string        `json:"reason,omitzero"`
	Next       time.Time     `json:"next,omitzero"`
}
