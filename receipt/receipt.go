package receipt

import (
	"context"
	"errors"
	"time"
)

// The apiVersion and kind of every record.
const (
	APIVersion = "pharos.dev/v1alpha1"
	Kind       = "Receipt"
)

// ID is a receipt's ID: "sha256:" and the 64 lower-case hexadecimal digits of
// the SHA-256 of its canonical bytes.
type ID string

// Record is what was asked for. It has no clock and no actor, so delivering
// the same thing again is the same record.
type Record struct {
	APIVersion string `json:"apiVersion"` // APIVersion
	Kind       string `json:"kind"`       // Kind
	Target     Target `json:"target"`
	Parent     ID     `json:"parent,omitempty"` // the receipt that was applied before it
	// RollbackOf is the earlier receipt whose content this one delivers once
	// more; empty for one that is no rollback.
	RollbackOf ID       `json:"rollbackOf,omitempty"`
	Commit     string   `json:"commit"`    // Git object ID
	Tree       string   `json:"tree"`      // Git object ID
	Catalogue  string   `json:"catalogue"` // "sha256:…" of pharos.yaml's bytes at the commit
	Renderer   Renderer `json:"renderer"`
	Images     []Image  `json:"images,omitempty"`  // in the catalogue's order
	Reads      []string `json:"reads,omitempty"`   // paths the render read, sorted
	Objects    []Object `json:"objects,omitempty"` // sorted by group, kind, namespace, name
}

// Target is where a record is delivered to.
type Target struct {
	Name       string `json:"name"`
	ClusterUID string `json:"clusterUID"` // UID of the namespace kube-system
}

// Renderer is what turned the tree into objects.
type Renderer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Image is one image of a record.
type Image struct {
	Name        string   `json:"name"`
	Fingerprint string   `json:"fingerprint"` // "sha256:…"
	Preimage    []Field  `json:"preimage,omitempty"`
	Repository  string   `json:"repository"` // where the target pulls from, without tag or digest
	Digest      string   `json:"digest"`     // "sha256:…" of the image index
	Platforms   []string `json:"platforms"`
	Bases       []string `json:"bases,omitempty"`
	Toolchain   string   `json:"toolchain,omitempty"` // what really built it, "go1.26.8"
}

// Field is one line of a fingerprint's preimage.
type Field struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Object is one object of a record and the hash of what was applied.
type Object struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Resource  string `json:"resource"` // the plural, "deployments"
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Hash      string `json:"hash"` // "sha256:…" of the object's RFC 8785 JSON
}

// OutcomeType says what was seen.
type OutcomeType string

// The types of outcome.
const (
	OutcomeAttempt    OutcomeType = "attempt"    // a delivery began
	OutcomeLive       OutcomeType = "live"       // the target was healthy at exactly this receipt
	OutcomeFailed     OutcomeType = "failed"     // a delivery ended otherwise: see Reason
	OutcomeSuperseded OutcomeType = "superseded" // another receipt was applied
	OutcomeCompleted  OutcomeType = "completed"  // run-once Jobs completed: see Jobs
)

// Pointers are the two names that move: what the target was last told, and
// what was last seen healthy. Zero IDs mean none; what a store holds always has
// Applied.
type Pointers struct {
	Applied ID `json:"applied,omitempty"`
	Live    ID `json:"live,omitempty"`
	// Repository is the Git object ID of the first commit of the repository
	// that the target belongs to; empty if it is not known. A store only keeps
	// it.
	Repository string `json:"repository,omitempty"`
	// Version is the store's own token for compare-and-swap; opaque.
	Version string `json:"-"`
}

// Summary is one line of a store's list.
type Summary struct {
	ID      ID
	Commit  string
	Created time.Time // when the store first held it; zero if the store cannot say
	// Last is the latest outcome without its Objects, Applications and Jobs
	// ([Outcome.Summary]), nil if there is none. A store may cut a Reason of more than 4,096 bytes; Outcomes returns all of
	// it.
	Last *Outcome
	// Result is the latest outcome of those that say what the delivery came to,
	// OutcomeLive and OutcomeFailed, in the form of Last; nil if there is none.
	// It stays when the receipt is superseded.
	Result *Outcome
	// Err says what of the line could not be read; nil if all could. Of what
	// could not be read, the other fields are zero. It matches ErrCorrupt.
	Err error
}

// Add accounts for the next outcome of the receipt, which is as
// [Outcome.Summary] returns it. It is for those who implement a Store.
func (s *Summary) Add(o Outcome) {
	s.Last = &o
	if o.Type == OutcomeLive || o.Type == OutcomeFailed {
		s.Result = &o
	}
}

// Delivered says whether the receipt's outcomes tell that pointers were set: a
// delivery of it got further than its beginning. Those that cannot be read may
// tell it. Where the store has no pointers then, they were lost. So they were
// where its record names a receipt before it.
func (s Summary) Delivered() bool {
	return s.Err != nil || s.Result != nil || s.Last != nil && s.Last.Type != OutcomeAttempt
}

// Store keeps the receipts of one target. Implementations are safe for
// concurrent use, also by several processes. Package receipttest holds the
// suite that every implementation has to pass.
//
// Every call either has its whole effect or none, also when its process is
// killed in the middle. When a call failed without telling which, because the
// connection broke for example, repeating it is safe: Put, AddOutcome and
// Delete change nothing the second time, and SetPointers returns ErrConflict if the
// first one went through after all.
type Store interface {
	// Put stores the record and returns its ID. Putting what is already there
	// changes nothing and is no error. ErrInvalid if the record is not valid or
	// belongs to another target, ErrTooLarge if the store cannot hold it.
	Put(ctx context.Context, r Record) (ID, error)
	// Get returns a record after checking that its content has that ID: else
	// ErrCorrupt. ErrNotFound if there is none.
	Get(ctx context.Context, id ID) (Record, error)
	// List returns all receipts, newest first. What it says comes from the
	// store's index: only Get checks a record against its ID. One that is
	// damaged does not hide the others: see Summary.Err.
	List(ctx context.Context) ([]Summary, error)
	// AddOutcome appends an outcome to a receipt. Adding what is already
	// there, equal in every field, changes nothing. ErrNotFound if there is no
	// such receipt, ErrInvalid if the outcome is not valid, ErrTooLarge if the
	// store cannot hold it.
	AddOutcome(ctx context.Context, id ID, o Outcome) error
	// Outcomes returns a receipt's outcomes in the order they were added: none
	// if there is no such receipt.
	Outcomes(ctx context.Context, id ID) ([]Outcome, error)
	// Delete removes a receipt and its outcomes: the record at once, the outcomes
	// with it or after it. ErrInUse if the pointers name it, or cannot be read so
	// that they might. Deleting what is not there changes nothing and is no
	// error. A store that cannot do both in one step looks at the pointers right
	// before it deletes: who may move them to an existing receipt holds the lease
	// of the target, as the caller has to.
	Delete(ctx context.Context, id ID) error
	// Pointers returns the current pointers, zero if there are none.
	// ErrCorrupt if they are damaged, also if a part of them is gone: what is
	// returned beside it is what could be read, and a Version with which
	// SetPointers can replace them.
	Pointers(ctx context.Context) (Pointers, error)
	// SetPointers replaces the pointers if they are still what Pointers
	// returned as old, which is judged by old.Version alone, and returns them
	// with their new Version: else ErrConflict and nothing changes. ErrInvalid
	// if the new ones break a rule of Pointers.Validate.
	SetPointers(ctx context.Context, old, new Pointers) (Pointers, error)
}

var (
	// ErrNotFound is returned when there is no receipt of that ID.
	ErrNotFound = errors.New("receipt not found")
	// ErrConflict is returned when somebody else moved the pointers first.
	ErrConflict = errors.New("pointers were moved by somebody else")
	// ErrInUse is returned when a receipt is to be deleted that the pointers name.
	ErrInUse = errors.New("receipt is in use")
	// ErrCorrupt is returned when stored bytes are not the receipt of that ID.
	ErrCorrupt = errors.New("receipt does not match its ID")
	// ErrInvalid is returned for a record, outcome or ID that breaks a rule of
	// the format. Where several rules are broken it is an *InvalidError.
	ErrInvalid = errors.New("invalid receipt")
	// ErrTooLarge is returned for a record or outcome that is larger than
	// MaxSize, or than the store can hold.
	ErrTooLarge = errors.New("receipt is too large")
)
