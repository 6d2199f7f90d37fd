package takeover

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// Config is what a Session needs.
type Config struct {
	// Lifecycle is the target's. Required.
	Lifecycle *lifecycle.Lifecycle
	// REST is how the target's API server is reached. Required.
	REST *rest.Config
	// Namespace is where the target's records are: its lease and its session object.
	// Required.
	Namespace string
	// Folder is where the journal is: a folder that is private to the checkout. It is
	// made if it is missing. Required.
	Folder string
	// Root is the checkout's folder. When it is deleted, or Folder is, the session hands
	// everything back, and ends even if the API server is away. The default is to look only at Folder.
	Root string
	// Facts reads the facts of a plan as they are now. Required.
	Facts func(context.Context) (Facts, error)
	// Agents publishes the agents' images. Required to begin a session.
	Agents Agents
	// Workstation runs the workloads on this machine. Required to begin a session.
	Workstation Workstation

	// Silence is after how long without a sign of life of this process the target's
	// controller puts the workloads back, though the lease is held. The default is not
	// to.
	Silence time.Duration
	// Same says whether the images of the working tree are the receipt's again, and is
	// asked after edits: then the session hands back by itself. Nil never does.
	Same func(context.Context) (bool, error)
	// Timeout is how long pods may take to be replaced, and the target to be as it was
	// in the end. The default is 5 minutes.
	Timeout time.Duration
	// Events receives what happens; may be nil.
	Events Sink
	// Clock is this machine's clock. The default is the real one.
	Clock Clock
	// Log receives what is no event. The default discards it.
	Log *slog.Logger
}

// Agents publishes the images of agents. Implementations are safe for concurrent use.
type Agents interface {
	// Publish makes sure that the target's registry has the agent of a session, and
	// returns its image by digest, as the target pulls it. Doing it again does
	// nothing.
	Publish(ctx context.Context, r AgentRequest) (image string, err error)
	// Remove removes an image that Publish returned, which no pod runs any more. It is
	// no error if it is gone.
	Remove(ctx context.Context, image string) error
}

// AgentRequest is an agent to publish.
type AgentRequest struct {
	// Session is the session's public part.
	Session wire.Session
	// Image is the image that the agent takes the place of.
	Image Original
}

// Original is an image of the receipt.
type Original struct {
	// Name is that of the catalogue, Digest that of the index, and Platforms are what
	// it is built for.
	Name      string
	Digest    lifecycle.Digest
	Platforms []string
}

// Workstation runs workloads on this machine. Implementations are safe for concurrent
// use.
type Workstation interface {
	// Start starts the process of a workload, and returns when it is ready. What it
	// returns with an error has ended.
	Start(ctx context.Context, r StartRequest) (Process, error)
	// Variables returns those that the process of a workload will get, without
	// their values: those of the plan, and those that only this machine knows of.
	// Errors match lifecycle.ErrSource for what an edit mends.
	Variables(w Workload) ([]environment.Name, error)
	// Recover removes what processes have left on this machine whose session was
	// killed, and nothing of those that run.
	Recover() error
}

// StartRequest is a workload to run on this machine.
type StartRequest struct {
	Workload Workload
	// Session is the public part of the session of this workload, and Key its
	// key.
	Session wire.Session
	Key     ed25519.PrivateKey
	// Permit is called before a connection is served; an error of it refuses the
	// connection. Confirm is called before a stream is: it asks the API server. Both
	// are safe for concurrent use.
	Permit, Confirm func(context.Context) error
	// Observed is told what happens to the process; Changed how many agents there are
	// when that changes, and how many of them are connected; Forwarded which Services
	// are at ports of this machine, all of them whenever that changes.
	// Warned is told what a person should know, in one line without any value.
	Observed  func(runtime.Event)
	Changed   func(connected, agents int)
	Forwarded func([]ForwardStatus)
	Warned    func(reason string)
}

// Process is a workload that runs on this machine. It is safe for concurrent use.
type Process interface {
	// Serve serves the agents that the diversion has put into the workload's pods,
	// until ctx ends.
	Serve(ctx context.Context, d divert.Diversion) error
	// Connected says whether the agent of that pod is served.
	Connected(pod types.UID) bool
	// Restart builds and starts the process anew, also one that is parked, and returns
	// when the new one is ready. Errors match lifecycle.ErrSource for what an edit mends:
	// it cannot be built, or does not stay up.
	Restart(ctx context.Context) error
	// State is what it does now.
	State() runtime.State
	// Stop ends the process and all that it had, and returns when it has ended.
	Stop() error
}
