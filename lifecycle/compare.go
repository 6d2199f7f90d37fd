package lifecycle

import "context"

// Comparer is a Deliverer that can show what a delivery would change on the
// target. Implementations are safe for concurrent use.
type Comparer interface {
	// Compare asks the target what it would make of the objects and changes
	// nothing: the request's Guard and Progress are not called. There is one
	// Comparison for each object that the target could say it of, in the order of
	// the request. Beside a *ConflictError, and beside errors of single objects,
	// stand all others.
	Compare(ctx context.Context, r DeliverRequest) ([]Comparison, error)
}

// Comparison is one object now and after a delivery. Both are whole objects as
// JSON, with the values of Secrets.
type Comparison struct {
	Change
	// Live is what the target holds; nil if there is nothing.
	Live []byte
	// Merged is what it would hold, with the target's defaults. For
	// ChangeConflict it is what Force and Adopt would come to. Where the target
	// cannot tell, because the object's kind or namespace comes with the same
	// delivery, it is the manifest.
	Merged []byte
}
