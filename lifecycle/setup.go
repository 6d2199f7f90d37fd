package lifecycle

import (
	"context"

	"github.com/pharos-dev/pharos/receipt"
)

// Setup is how a target is prepared by [Lifecycle.Deploy] before the first
// delivery to it.
type Setup struct {
	// Namespace is where Pharos's own objects are, and Account the ServiceAccount
	// there that deliveries in the cluster run as.
	Namespace, Account string
	// Preparers name what has to be there, in the order in which it is made.
	Preparers []Preparer
	// Checks look at what else a delivery needs: a Git server, for example.
	Checks []Check
	// Writer writes what the steps hold. Required.
	Writer SetupWriter
	// Checkpoints keeps what was prepared. Required.
	Checkpoints Checkpoints
	// Version is that of the program, for the checkpoint.
	Version string
}

// Check is a look at something that a delivery needs.
type Check struct {
	Name string // "the Git server http://git.example/shop.git"
	// Run returns why it cannot be used; nil if it can. It is safe for concurrent
	// use with other checks.
	Run func(ctx context.Context) error
}

// SetupWriter writes the objects of a preparation. Implementations are safe for
// concurrent use.
type SetupWriter interface {
	// Write makes the target hold one object. Resolved is the same object as the
	// Deliverer resolved it.
	Write(ctx context.Context, o Object, resolved receipt.Object, w WriteOptions) (ChangeType, error)
}

// WriteOptions say how an object of a preparation is written.
type WriteOptions struct {
	// Create creates the object where it is missing, and leaves it alone else. The
	// default applies it.
	Create bool
	// Force takes over fields that somebody else owns.
	Force bool
	// DryRun says what would be done, and changes nothing.
	DryRun bool
	// Guard is called right before the write; an error of it stops it. Nil for a
	// dry run.
	Guard func(context.Context) error
}

// Checkpoints keeps the checkpoint of one target. Implementations are safe for
// concurrent use, also by several processes.
type Checkpoints interface {
	// Checkpoint returns the zero Checkpoint if there is none. The error matches
	// ErrCheckpoint if what is there cannot be read; Version is set beside it.
	Checkpoint(ctx context.Context) (Checkpoint, error)
	// SetCheckpoint replaces the checkpoint if it is still the one of old.Version,
	// and returns it with its new Version; else the error matches ErrConflict of
	// package receipt.
	SetCheckpoint(ctx context.Context, old, new Checkpoint) (Checkpoint, error)
}
