package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/receipt"
)

// Cluster is what a lifecycle needs to know of the target's cluster.
// Implementations are safe for concurrent use.
type Cluster interface {
	// UID identifies the cluster: the UID of its namespace kube-system.
	UID(ctx context.Context) (string, error)
	// Prepare makes sure that the namespace for receipts and the lease is
	// there. It changes nothing else, and nothing if it is.
	Prepare(ctx context.Context) error
	// Platforms returns the platforms of all nodes, sorted and each once, such
	// as "linux/arm64". The error matches ErrForbidden if nodes may not be
	// listed.
	Platforms(ctx context.Context) ([]string, error)
	// Placements returns which nodes the pods that the objects describe may be
	// placed on: one for each description of a pod, in the order of the objects.
	// The error matches ErrForbidden if nodes may not be listed.
	Placements(ctx context.Context, objects []Object) ([]Placement, error)
}

// Placement says where the pods of one description may be placed.
type Placement struct {
	// Object is what describes them.
	Object Object
	// Images are those of its containers, as they are written there.
	Images []string
	// Nodes are the names of nodes that they may be placed on, one for each
	// platform.
	Nodes map[string]string
}

// Lease is the lease of the target. *lease.Manager is one.
type Lease interface {
	Inspect(ctx context.Context) (lease.State, error)
	Acquire(ctx context.Context, r lease.Request) (*lease.Held, error)
	Resume(ctx context.Context, holder string) (*lease.Held, error)
	Retake(ctx context.Context, holder string) (*lease.Held, error)
	DryRun(ctx context.Context, r lease.Request) (covers []string, err error)
	Sweep(ctx context.Context) (lease.State, lease.Report, error)
	Look(ctx context.Context) (lease.State, []lease.Closed, error)
}

// Config is a target and everything that delivering to it needs.
type Config struct {
	// Target is the target's name. Required.
	Target string
	// Overlay is the folder of the kustomization in the tree. Required.
	Overlay string
	// Push and Pull are the repositories' common prefix as the builders and as
	// the target see it, "localhost:5000/dev". The default of Pull is Push.
	Push, Pull string

	Cluster   Cluster            // required
	Receipts  receipt.Store      // required
	Lease     Lease              // required
	Registry  Registry           // required
	Builders  map[string]Builder // by the kind of recipe: "go"
	Renderer  Renderer           // required
	Deliverer Deliverer          // required
	// Transport publishes a commit before anything on the target names it. Nil
	// publishes nothing, for a Deliverer that needs no Git server.
	Transport Transport

	// Setup is how the target is prepared. With one, nothing is delivered to a
	// target that Deploy did not prepare, unless something was already. Nil wants
	// no preparation.
	Setup *Setup

	// Reserved says of an object whether Pharos keeps its own records in it, so
	// that no overlay may name it; of one without a namespace, whether it would
	// be so where the Deliverer puts it. Nil reserves none, for records that are
	// not on the target.
	Reserved func(receipt.Object) bool
	// Actor is user@host, for people: the lease and the outcomes show it.
	Actor string
	// Jobs is how many images are built at once. The default is 4.
	Jobs int
	// Keep is how many of the newest receipts are kept, at least MinKeep. Beside
	// them are kept the applied and the live one, of each the receipts before it
	// that orphans are searched for by, and what any of these repeats as a rollback.
	// After a delivery became live, others are dropped. The default, zero, keeps all.
	Keep int
	// Log receives what is no event. The default discards.
	Log *slog.Logger
	// Now tells the time that events and outcomes carry. The default is
	// time.Now.
	Now func() time.Time
}

// Lifecycle delivers commits to one target. It is safe for concurrent use: the
// target's lease lets one delivery at a time happen.
type Lifecycle struct{ Config }

// New checks the configuration and returns a Lifecycle. It reads nothing from
// the target.
func New(c Config) (*Lifecycle, error) {
	var missing []error
	require := func(ok bool, field string) {
		if !ok {
			missing = append(missing, fmt.Errorf("lifecycle: Config.%s is required", field))
		}
	}
	require(c.Target != "", "Target")
	require(c.Overlay != "", "Overlay")
	require(c.Push != "", "Push")
	require(c.Cluster != nil, "Cluster")
	require(c.Receipts != nil, "Receipts")
	require(c.Lease != nil, "Lease")
	require(c.Registry != nil, "Registry")
	require(c.Renderer != nil, "Renderer")
	require(c.Deliverer != nil, "Deliverer")
	require(c.Setup == nil || c.Setup.Writer != nil, "Setup.Writer")
	require(c.Setup == nil || c.Setup.Checkpoints != nil, "Setup.Checkpoints")
	if c.Keep != 0 && c.Keep < MinKeep {
		missing = append(missing, fmt.Errorf("lifecycle: Config.Keep is %d, and must be at least %d", c.Keep, MinKeep))
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	if c.Pull == "" {
		c.Pull = c.Push
	}
	if c.Jobs <= 0 {
		c.Jobs = 4
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Lifecycle{c}, nil
}
