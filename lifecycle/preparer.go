package lifecycle

import (
	"context"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/receipt"
)

// Preparer names what a target has to hold before anything is delivered to it.
// A way of delivery that needs such things, a project of Argo CD for example,
// comes with one: see [Setup]. Implementations are safe for concurrent use.
type Preparer interface {
	// Prepare returns the steps in their order, none if there is nothing to
	// prepare. It writes nothing: [Lifecycle.Deploy] applies what the steps hold.
	// The same request and target give the same steps, byte for byte, since a
	// hash of them says whether a step was done. An error that a commit mends
	// matches ErrSource.
	Prepare(ctx context.Context, r PrepareRequest) ([]PrepareStep, error)
}

// PrepareRequest is what a target is prepared for.
type PrepareRequest struct {
	// Target is the target's name.
	Target string
	// Commit is the ID of the commit that is delivered next.
	Commit source.ID
	// Objects are what the commit delivers. Where an image has to be built, its
	// digest is all zeros in them. Resolved are the same, as the target names them.
	Objects  []Object
	Resolved []receipt.Object
	// Account is the ServiceAccount in Namespace that deliveries in the cluster run
	// as. What it may do beyond records, lease and the Objects, a step has to give
	// it: with a Role and a RoleBinding among its objects.
	Namespace, Account string
}

// PrepareStep is a part of the preparation that is done, and recorded, as a whole.
type PrepareStep struct {
	// Name is what the step is called in the checkpoint: a DNS label, unique
	// among all steps of a target.
	Name string
	// Apply are objects that are kept as they are here, by server-side apply with
	// a field manager of its own.
	Apply []Object
	// Create are objects that are created before those of Apply where they are
	// missing, and left alone else: what others fill in or may have made already.
	Create []Object
}
