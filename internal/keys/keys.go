// Package keys holds every label, annotation and field manager that Pharos
// writes or reads.
package keys

const (
	// Target is the label on every delivered object; its value is the target's
	// name.
	Target = "pharos.dev/target"
	// RunOnce is the annotation on a Job in the manifests that must run once; its
	// value is "true".
	RunOnce = "pharos.dev/run-once"
	// Fingerprint is the annotation on an image index: the fingerprint that it
	// was built from.
	Fingerprint = "pharos.dev/fingerprint"
	// Toolchain is the annotation on an image index: what built it, such as
	// "go1.26.8".
	Toolchain = "pharos.dev/toolchain"
	// ReceiptsOf is the label on every object of a store of receipts; its value
	// is the target's name. It is not Target, since the store is not delivered.
	ReceiptsOf = "pharos.dev/receipts-of"
	// ReceiptPart is the label that says what such an object holds: "record",
	// "outcome" or "pointers".
	ReceiptPart = "pharos.dev/receipt-part"
	// Receipt is the label on a record and its outcomes: the first 40
	// hexadecimal digits of the receipt's ID, as many as a label can surely hold.
	Receipt = "pharos.dev/receipt"
	// Commit is the annotation on a record: the commit that it delivers.
	Commit = "pharos.dev/commit"
	// Outcome is the annotation on an outcome: its JSON without the objects.
	Outcome = "pharos.dev/outcome"
	// WriteID is the annotation by which a writer recognises its own write.
	WriteID = "pharos.dev/write-id"
	// ManagedBy is the label that says which tool an object belongs to; its
	// value is Manager.
	ManagedBy = "app.kubernetes.io/managed-by"

	// LeaseMode, LeaseUser, LeasePurpose and LeaseCovers are the annotations on
	// a target's lease for what the Lease itself has no field for. Covers is a
	// JSON array of names.
	LeaseMode    = "pharos.dev/lease-mode"
	LeaseUser    = "pharos.dev/lease-user"
	LeasePurpose = "pharos.dev/lease-purpose"
	LeaseCovers  = "pharos.dev/lease-covers"
	// LeaseExpires is the annotation on a lease that says when it ends, for
	// people: what counts is its renewTime and duration.
	LeaseExpires = "pharos.dev/lease-expires"
	// LeaseBroken is the annotation on a lease that says who broke it last, whose
	// it was, and why: a JSON object. It stays when the lease is acquired again.
	LeaseBroken = "pharos.dev/lease-broken"
	// LeaseTarget is the label on a lease; its value is the target's name.
	LeaseTarget = "pharos.dev/lease-of"

	// LeaseWindow begins the mark in a sync window of Argo CD that a lease has
	// closed, LeaseWindowEnded in one that has ended and stands for what is still
	// to do; after "=" they say which lease. No Application can be named so.
	LeaseWindow      = "pharos.dev/lease"
	LeaseWindowEnded = "pharos.dev/lease-ended"

	// FencingToken is the annotation on an Application of Argo CD that Pharos
	// points at commits: the token of the lease under which it did so last. An
	// earlier holder does not write after a later one.
	FencingToken = "pharos.dev/fencing-token"

	// BuildOf is the label on the Job of an image's build and on its pod; its
	// value is the target's name. It is not Target, since a Job is not delivered.
	BuildOf = "pharos.dev/build-of"
	// BuildImage is the label on such a Job: the image's name, shortened to what a
	// label can hold.
	BuildImage = "pharos.dev/build-image"
	// BuildFingerprint is the label on such a Job: the first 40 hexadecimal digits
	// of the fingerprint, which stands as a whole in the annotation Fingerprint.
	BuildFingerprint = "pharos.dev/build-fingerprint"
	// BuildRepository is the annotation on such a Job: where the image is pushed.
	BuildRepository = "pharos.dev/build-repository"
	// Inputs is the annotation on such a Job: the ID of the pruned tree.
	Inputs = "pharos.dev/inputs"
	// Owner is the annotation that says who made an object, user@host, or whom to ask
	// about it.
	Owner = "pharos.dev/owner"

	// Intent is the label that says how long an object is meant to be there:
	// "transient" or "retained".
	Intent = "pharos.dev/intent"
	// TTL, ExpiresAt, LastActive and Grace are the annotations that say when a
	// transient object ends, see the package reaper.
	TTL        = "pharos.dev/ttl"
	ExpiresAt  = "pharos.dev/expires-at"
	LastActive = "pharos.dev/last-active"
	Grace      = "pharos.dev/grace"
	// Ending is the annotation on a namespace that is about to be deleted: since when.
	Ending = "pharos.dev/ending"
	// Notified is the annotation on a transient object: of which end an Event has
	// warned.
	Notified = "pharos.dev/notified"
	// Ephemeral is the label on a namespace that a test has made for itself; its value
	// is "true".
	Ephemeral = "pharos.dev/ephemeral"
	// OnExpiry is an annotation that is kept for later: what is to become of an object
	// at its end.
	OnExpiry = "pharos.dev/on-expiry"

	// Tier is the label on what was created within a tier; its value is the tier's
	// name. Admitted is the annotation that says by which admission, and with which
	// requests: a JSON object. TierLedger is the label on the tier's ledger, and
	// TierPolicy that on its admission policy and quotas.
	Tier       = "pharos.dev/tier"
	Admitted   = "pharos.dev/admitted"
	TierLedger = "pharos.dev/tier-ledger"
	TierPolicy = "pharos.dev/tier-policy"

	// SecretValues is the annotation by which a Secret says what its values in Git
	// are; SecretValuesHarmless, that anybody may read them, is the only value.
	SecretValues         = "pharos.dev/secret-values"
	SecretValuesHarmless = "harmless"
	// NotToBeApplied is the annotation on an object that is printed with
	// placeholders, and says which. No API server accepts an annotation of a name
	// with blanks in it, whatever kind of object it is on.
	NotToBeApplied = "pharos.dev/not to be applied"

	// Supervise is the label on a workload that is to be restarted within a budget;
	// SuperviseTrue is the only value that asks for it.
	Supervise     = "pharos.dev/supervise"
	SuperviseTrue = "true"
	// Parked is the annotation on a workload that is not restarted any more, or that
	// somebody does not want to be: its value is the reason, for people.
	Parked = "pharos.dev/parked"
	// RestartBudget is the annotation on a workload that was restarted: how much of
	// the budget is used up, in the format of lifecycle/supervise.
	RestartBudget = "pharos.dev/restart-budget"

	// TakeoverOf is the label on the object of a takeover's session; its value is the
	// target's name. TakeoverSession is the type of that Secret.
	TakeoverOf      = "pharos.dev/takeover-of"
	TakeoverSession = "pharos.dev/takeover"
	// TakeoverManager is the field manager of what a takeover replaces on workloads. No
	// target's is called so, since a target's name has no dot.
	TakeoverManager = "pharos.takeover"

	// Manager is Pharos's field manager, and begins the name of each target's.
	Manager = "pharos"
	// Controller is what Events name as the controller that reports them.
	Controller = "pharos.dev/controller"
)
