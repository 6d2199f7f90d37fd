package lifecycle

import (
	"context"
	"io"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/receipt"
)

// Digest is an image digest: "sha256:" and 64 lower-case hexadecimal digits.
type Digest string

// Builder builds images of one kind. Implementations are safe for concurrent
// use.
type Builder interface {
	// Build builds the image and pushes it by digest to the request's
	// repository. When it returns, nothing that it started is left: no
	// process, no file but caches. The error of a build that failed because
	// of its input is a *BuildError.
	Build(ctx context.Context, r BuildRequest) (BuildResult, error)
}

// Checker is a Builder that can tell some of what would fail before anything is
// built. Implementations are safe for concurrent use.
type Checker interface {
	// Check looks at what can be known of a build without it, and writes
	// nothing. Of the request Images may lack those that are not built yet, and
	// Repository and Output may be empty. Errors are as of Build.
	Check(ctx context.Context, r BuildRequest) error
}

// BuildRequest is one image to build.
type BuildRequest struct {
	// State holds the recipe, the platforms, the fingerprint and the pruned
	// tree, which is all that the build may read.
	State catalogue.State
	// Full is the tree that Inputs was cut from. It is read only to explain a
	// failure: which path was missing, and which pattern would declare it.
	Full source.Tree
	// Images are the images of the catalogue that this one is built on, by
	// name: each of State.Dependencies, as a reference by digest from where
	// builders push to.
	Images map[string]string
	// Repository is where to push, such as "localhost:5000/dev/api".
	Repository string
	// Output receives what the build's tools print. The builder writes to it
	// from one goroutine at a time.
	Output io.Writer
}

// BuildResult is a built and pushed image.
type BuildResult struct {
	Digest    Digest   // of the image index
	Platforms []string // sorted
	Bases     []string // references by digest, without the request's Images
	Toolchain string   // what built it, such as "go1.26.8"
	Size      int64    // bytes of its compressed layers, all platforms
}

// BuildError says why an image could not be built from its inputs.
type BuildError struct {
	Image string
	// Reason is one line for a person.
	Reason string
	// Missing are paths that the build needs and the image does not declare,
	// each with the pattern that would declare it.
	Missing []MissingInput
	// Output is the end of what the build's tools printed.
	Output string
	Err    error
}

// MissingInput is a path that a build needs and its image does not declare.
type MissingInput struct {
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
}

// Repository is the Git repository that a commit is of. *source.Repository is
// one. Implementations are safe for concurrent use.
type Repository interface {
	// Commit returns the commit of a full ID. The error matches
	// source.ErrNotFound or source.ErrUnknownRevision if there is none.
	Commit(ctx context.Context, id string) (source.Commit, error)
}

// Renderer turns a tree into objects. Implementations are safe for concurrent
// use.
type Renderer interface {
	Render(ctx context.Context, r RenderRequest) (Rendering, error)
	// ID names the renderer and its version, for the receipt.
	ID() receipt.Renderer
}

// RenderRequest is what to render.
type RenderRequest struct {
	Tree source.Tree
	// Commit is the ID of the commit that the tree is of, for objects that name
	// it, such as an Application of Argo CD. Empty if it is of none.
	Commit  source.ID
	Overlay string // the overlay's folder in the tree, "gitops/overlays/dev"
	// Images are what every use of a catalogue image is replaced by, by the
	// image's name in the kustomizations.
	Images []ImageRef
	// Labels are set on every object, not on selectors or templates.
	Labels map[string]string
}

// ImageRef is an image of the catalogue by digest.
type ImageRef struct {
	Name       string
	Repository string // where the target pulls from
	Digest     Digest
	// Base says that another image of the catalogue is built on it, so that no
	// object has to use it.
	Base bool
	// Artifact says that it is an artifact and no container image, so that no
	// object has to use it either.
	Artifact bool
}

// Rendering is a rendered overlay.
type Rendering struct {
	// Objects stand in the order in which they are to be applied.
	Objects []Object
	// Reads are the paths in the tree that were read, and those that were looked
	// for and are not there, sorted.
	Reads []string
	// Findings are what a person should know: an image of the catalogue that
	// is never used, a workload's image that is left on a tag.
	Findings []Finding
}

// Object is one rendered object.
type Object struct {
	Group, Version, Kind, Namespace, Name string
	// JSON is the whole object, in RFC 8785 form.
	JSON []byte
	// By is what brings the object to the target where that is not the Deliverer
	// itself, such as "Application argocd/shop". A Renderer says it to the Deliverer
	// that it belongs to, and to nobody else. The default is empty.
	By string
}

// Finding is something that is not as it should be.
type Finding struct {
	Subject string `json:"subject"` // what it is about: "image web", "Deployment shop/api"
	Message string `json:"message"`
}

// Deliverer brings rendered objects to a target. Implementations are safe for
// concurrent use.
type Deliverer interface {
	// Resolve fills in the resources of the objects, as the target names them,
	// and their namespaces where a namespaced object has none. Objects whose
	// kind the target does not know, and that no CRD among them declares, are
	// an error.
	Resolve(ctx context.Context, objects []Object) ([]receipt.Object, error)
	// Deliver makes the target hold the objects. It never deletes.
	Deliver(ctx context.Context, r DeliverRequest) (DeliverResult, error)
	// Wait waits until the target's objects are healthy at their newest
	// generation, or until they cannot become so, or ctx ends. In the latter
	// cases it returns what it saw last with a *UnhealthyError.
	Wait(ctx context.Context, r ObserveRequest) (Observation, error)
	// Observe looks once.
	Observe(ctx context.Context, r ObserveRequest) (Observation, error)
}

// Examiner is a Deliverer that can tell before anything is recorded or written
// that a delivery would be refused. Implementations are safe for concurrent use.
type Examiner interface {
	// Examine looks at all that Deliver looks at before its first write, and
	// returns the errors that Deliver would. It writes nothing: the request's
	// Guard and Progress are not called, and it has no Receipt.
	Examine(ctx context.Context, r DeliverRequest) error
}

// DeliverRequest is what to deliver.
type DeliverRequest struct {
	Objects []Object
	// Resolved are the same objects as Resolve returned them.
	Resolved []receipt.Object
	// Target is the target's name, the value of its label on every object.
	Target string
	// Guard is called right before every write; an error of it stops the
	// delivery and is returned.
	Guard func(context.Context) error
	// DryRun asks the server what would happen, and changes nothing.
	DryRun bool
	// Force takes fields over that somebody else owns.
	Force bool
	// Adopt takes objects over that are there already and were not delivered to
	// this target. By default each is a conflict as a whole, even if nothing in it
	// would change.
	Adopt bool
	// Progress is called after each object, from one goroutine at a time; may be nil.
	Progress func(Change)

	// Commit is the ID of the commit that is delivered. Whatever fetches it for
	// the target finds it where the Transport published it.
	Commit source.ID
	// Images are those that the objects name by digest.
	Images []ImageRef
	// Receipt is the ID of the delivery's record, empty for a dry run.
	Receipt receipt.ID
	// Token is the fencing token of the lease that the delivery holds, 0 for a
	// dry run. A Deliverer that writes it where it writes anything else lets no
	// earlier holder write after it.
	Token int64
	// Completed are Jobs that run once, and that completed at an earlier
	// delivery: they are not created again.
	Completed []receipt.Object
	// Applied are objects of the delivery before, and Seen what the target held
	// when that was live. One whose hash is still the same and that is still held
	// as it was seen then need not be written again. Both may be nil, and contain
	// what this delivery does not have.
	Applied []receipt.Object
	Seen    []receipt.Seen
	// Prepared are objects that a preparation makes before the delivery, and that
	// need not be there yet: for dry runs and an Examiner.
	Prepared []Object
}

// ChangeType says what a delivery did to an object.
type ChangeType string

// The types of change.
const (
	ChangeCreated    ChangeType = "created"
	ChangeConfigured ChangeType = "configured"
	ChangeUnchanged  ChangeType = "unchanged"
	// ChangeConflict is of an object that was left alone, since it or one of its
	// fields belongs to somebody else: the *ConflictError says to whom.
	ChangeConflict ChangeType = "conflict"
)

// Change is what a delivery did to one object.
type Change struct {
	Type   ChangeType     `json:"type"`
	Object receipt.Object `json:"object"`
	// Provisional says, of what a dry run or a diff foresees, that the object will
	// have another name: it is a Job that runs once, which is named by its content,
	// and an image of it has to be built first.
	Provisional bool `json:"provisional,omitempty"`
}

// DeliverResult is a delivery that was accepted.
type DeliverResult struct {
	Changes []Change
	// Untried are what a dry run could not ask the target about, and why: objects
	// that others bring to it and that we may not write ourselves.
	Untried []Finding
	// Seen are the objects as the target answered that it holds them now: what
	// Wait has to find in the end. Empty for a dry run.
	Seen []receipt.Seen
	// Applications are those that were pointed at the commit, as the target
	// answered. Empty for a Deliverer that has none.
	Applications []receipt.Application
	// Completed are Jobs of the request that run once and are known to have
	// completed: what Wait is to be told. Those of the request are among them.
	Completed []receipt.Object
}

// ObserveRequest is what to look at.
type ObserveRequest struct {
	Target  string
	Objects []receipt.Object
	// Earlier are objects of earlier receipts: their resources are searched for
	// orphans too.
	Earlier []receipt.Object
	// Seen is what the target held when the receipt was last live, or right
	// after it was applied; objects that differ from it are drifted. Nil skips
	// the comparison.
	Seen []receipt.Seen
	// Known has an object that differs from Seen be compared once more, as what it
	// returns: the object without what is known to be changed for now. It has to be
	// without a side effect. Nil compares objects as they are.
	Known func(o receipt.Object, live []byte) ([]byte, error)
	// Progress is called by Wait whenever what it waits for changes; may be nil.
	Progress func(Observation)
	// Guard is called right before every write that Wait has to make to move on
	// what does not move by itself, such as an Application of Argo CD that is
	// synced by hand only. Nil lets Wait only look.
	Guard func(context.Context) error
	// Anew has whoever keeps the target look at it once more before it is believed,
	// such as Argo CD, whose status may be from before an edit. It is called right
	// before every write that this takes. Nil believes what was said last. A
	// Deliverer that looks for itself has no use for it.
	Anew func(context.Context) error

	// Commit and Images are those of the receipt, whose delivery is looked at.
	Commit source.ID
	Images []ImageRef
	// Applications are what Deliver returned, or what was seen when the receipt
	// was last live; nil if that is not known.
	Applications []receipt.Application
	// Completed are Jobs that run once, and that are known to have completed:
	// they may be gone.
	Completed []receipt.Object
	// Covers are the names of the Applications to look at, and at no others. The
	// default, for a Deliverer that has Applications, is all of Objects.
	Covers []string
}

// Observation is what a target held.
type Observation struct {
	// Seen are the objects that were there, in the order of the request.
	Seen []receipt.Seen
	// Unready are those that are missing or not healthy, with the reason.
	Unready []ObjectStatus
	// Drifted are those whose fields somebody else changed.
	Drifted []ObjectStatus
	// Orphans carry the target's label and are not among the request's
	// objects. Only resources that the request names, in Objects or Earlier,
	// are searched.
	Orphans []receipt.Object
	// Applications are what was seen of the Applications that deliver the
	// objects, sorted by namespace and name. Empty for a Deliverer that has none.
	Applications []receipt.Application
	// Completed are Jobs of the request that run once and are known to have
	// completed, also from the request's own Completed.
	Completed []receipt.Object
}

// ObjectStatus is the state of one object.
type ObjectStatus struct {
	Object receipt.Object `json:"object"`
	// Reason is one line: "0 of 2 replicas are available; pod api-x: 0/1 nodes are available: …".
	Reason string `json:"reason"`
	// Failed says that it will not become healthy by itself.
	Failed bool `json:"failed,omitempty"`
}

// Transport brings commits to the Git server that the target fetches from.
// Implementations are safe for concurrent use.
type Transport interface {
	// Publish makes sure that the server has the commit, and keeps it for as long
	// as the receipt is kept. Only what the server lacks is sent. Doing it again
	// does nothing.
	Publish(ctx context.Context, r PublishRequest) error
	// Retain lets the server forget what no kept receipt needs: the commits of
	// the receipts that are dropped and, after a grace for builds that run
	// now, what was sent for builds. Doing it again does nothing.
	Retain(ctx context.Context, r RetainRequest) error
}

// PublishRequest is one commit to publish.
type PublishRequest struct {
	Commit  source.Commit
	Receipt receipt.ID
}

// RetainRequest says what is not needed any more. A server may be shared by
// several targets and clusters, so that what is dropped is named, and not what
// is kept.
type RetainRequest struct {
	// Dropped are the target's receipts that are about to be deleted.
	Dropped []receipt.ID
	// Inputs are the pruned trees of the images that receipts name which are
	// kept. Nil, as opposed to empty, leaves alone all that was sent for builds.
	Inputs []source.ID
}

// Healthy says whether every object was there and healthy.
func (o Observation) Healthy() bool { return len(o.Unready) == 0 }
