package lifecycle

import (
	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/receipt"
)

// Decision is what a reconcile has to do.
type Decision string

// The decisions, from least to most.
const (
	// DecideUnchanged: the target already is what the commit asks for.
	DecideUnchanged Decision = "unchanged"
	// DecideDeliver: no image has to be built, but the target has to change or
	// to be proven.
	DecideDeliver Decision = "deliver"
	// DecideBuild: images have to be built first.
	DecideBuild Decision = "build"
)

// Plan is what a commit asks of a target, and why.
type Plan struct {
	Decision Decision `json:"decision"`
	// Reasons say why, one line each: for DecideUnchanged they are the proof.
	Reasons []string `json:"reasons"`
	// Blocked is one line on what would refuse the delivery now: a lease, a
	// maintenance, whose the target is, or that it was never prepared. Only a dry
	// run makes a plan all the same.
	Blocked string `json:"blocked,omitempty"`
	// Images are all images of the catalogue, in its order.
	Images []ImageStatus `json:"images"`
	// Applied and Live are the receipts that the plan was made against.
	Applied receipt.ID `json:"applied,omitempty"`
	Live    receipt.ID `json:"live,omitempty"`
	// RollbackOf is the earlier receipt that is delivered once more; empty for a
	// reconcile.
	RollbackOf receipt.ID `json:"rollbackOf,omitempty"`
	// Changes are the paths that differ from the applied receipt's tree, with
	// the class that decided.
	Changes []PathChange `json:"changes,omitempty"`
}

// PathChange is one path that differs between two trees.
type PathChange struct {
	Path  string `json:"path"`
	Class string `json:"class"` // build, deliver, neutral or unknown
	// Images are those whose inputs hold the path.
	Images []string `json:"images,omitempty"`
}

// ImageStatus is what a plan found out about an image, or what became of it.
type ImageStatus struct {
	Name        string                `json:"name"`
	Fingerprint catalogue.Fingerprint `json:"fingerprint"`
	// Repository is where the target pulls from.
	Repository string `json:"repository"`
	// Digest is empty while the image has to be built.
	Digest Digest `json:"digest,omitempty"`
	// Reason is one line: where the digest comes from, or why it has to be built.
	Reason string `json:"reason"`
}

// Build says whether the image has to be built.
func (s ImageStatus) Build() bool { return s.Digest == "" }
