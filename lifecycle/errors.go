package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

var (
	// ErrImageNotFound is returned by a Registry for an image it does not have.
	ErrImageNotFound = errors.New("image not found in the registry")
	// ErrSource is matched by every error that the repository, pharos.yaml, a
	// kustomization or a build causes: something that a commit mends.
	ErrSource = errors.New("source")
	// ErrUnreachable is matched by every error of a cluster, registry or Git
	// server that cannot be reached or does not let us in.
	ErrUnreachable = errors.New("unreachable or forbidden")
	// ErrForbidden is matched, beside ErrUnreachable, by the error of a Cluster
	// that does not let us look at something that a delivery can do without.
	ErrForbidden = errors.New("forbidden")
	// ErrBlocked is matched by every *BlockedError.
	ErrBlocked = errors.New("blocked")
	// ErrUnhealthy is matched by every *UnhealthyError.
	ErrUnhealthy = errors.New("delivered but not healthy")
	// ErrConflict is matched by every *ConflictError.
	ErrConflict = errors.New("fields are owned by somebody else")
)

// Error says what was attempted, on what, and why it failed.
type Error struct {
	Op     string // "read pharos.yaml", "push image"
	On     string // what it was attempted on; addresses without credentials
	Class  error  // ErrSource, ErrUnreachable or nil
	Err    error  // the cause
	Advice string // what to do, one line; may be empty
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.On != "" {
		b.WriteString(" " + e.On)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Advice != "" {
		b.WriteString("\n" + e.Advice)
	}
	return b.String()
}

// Unwrap returns the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Class == nil {
		return []error{e.Err}
	}
	return []error{e.Class, e.Err}
}

// BlockedError says that somebody or something does not let a delivery happen.
type BlockedError struct {
	Reason string    // "the lease is held …"
	Holder string    // user@host, if somebody holds the lease
	Mode   string    // the lease's mode
	Until  time.Time // when it ends by itself; zero if it does not
	Next   string    // the command that helps
	Err    error
}

func (e *BlockedError) Error() string {
	if e.Next == "" {
		return e.Reason
	}
	return e.Reason + "\n" + e.Next
}

// Unwrap returns ErrBlocked and the cause.
func (e *BlockedError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrBlocked}
	}
	return []error{ErrBlocked, e.Err}
}

// UnhealthyError names what did not become healthy, and why.
type UnhealthyError struct {
	Unready []ObjectStatus
	Err     error // why waiting ended: a deadline, or nil when an object failed for good
}

func (e *UnhealthyError) Error() string {
	var b strings.Builder
	b.WriteString("not healthy:")
	for _, u := range e.Unready {
		fmt.Fprintf(&b, "\n  %s: %s", ObjectName(u.Object), u.Reason)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, "\n(%v)", e.Err)
	}
	return b.String()
}

// Unwrap returns ErrUnhealthy and the cause.
func (e *UnhealthyError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrUnhealthy}
	}
	return []error{ErrUnhealthy, e.Err}
}

// Conflict is one field, or one object, that somebody else owns.
type Conflict struct {
	Object string `json:"object"` // "Deployment shop/api"
	// Field is the field, ".spec.replicas"; empty for the whole object, which was
	// there already and was not delivered to this target.
	Field string `json:"field,omitempty"`
	Owner string `json:"owner"` // the field manager, or who else the object says it belongs to
}

// ConflictError lists the fields and objects that somebody else owns.
type ConflictError struct{ Conflicts []Conflict }

func (e *ConflictError) Error() string {
	var b strings.Builder
	whole, fields := 0, 0
	for _, c := range e.Conflicts {
		if c.Field == "" {
			whole++
			fmt.Fprintf(&b, "\n  %s: it is there already, and belongs to %s", c.Object, c.Owner)
			continue
		}
		fields++
		fmt.Fprintf(&b, "\n  %s: %s is owned by %q", c.Object, c.Field, c.Owner)
	}
	what := "fields are owned by somebody else:"
	switch {
	case fields == 0:
		what = "objects are owned by somebody else:"
	case whole > 0:
		what = "objects and fields are owned by somebody else:"
	}
	if whole > 0 {
		b.WriteString("\nGive these objects other names, or take them over with --adopt-objects.")
	}
	if slices.ContainsFunc(e.Conflicts, func(c Conflict) bool { return c.Field != "" && c.Owner == formerOwner }) {
		b.WriteString("\n" + formerOwner + " is nobody: who wrote these fields is not recorded, since metadata.managedFields were cleared, or are older than the first apply.")
	}
	if fields > 0 {
		b.WriteString("\nLeave these fields out of the manifests, or take them over with --force-conflicts.")
	}
	return what + b.String()
}

// formerOwner is whom the API server names where it does not know who wrote a field.
const formerOwner = "before-first-apply"

// Is reports that a ConflictError is an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

func (e *BuildError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "build image %s: %s", e.Image, e.Reason)
	for _, m := range e.Missing {
		fmt.Fprintf(&b, "\n  %s is not declared: add %q to the inputs of %q", m.Path, m.Pattern, e.Image)
	}
	if e.Output != "" {
		b.WriteString("\n" + strings.TrimRight(e.Output, "\n"))
	}
	return b.String()
}

// Unwrap returns ErrSource and the cause.
func (e *BuildError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrSource}
	}
	return []error{ErrSource, e.Err}
}
