package lifecycle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/receipt"
)

// ErrCheckpoint is matched by the error of Checkpoints for a checkpoint that is
// damaged, or written by a later version.
var ErrCheckpoint = errors.New("the checkpoint of the preparation cannot be read")

// The apiVersion and kind of every checkpoint.
const (
	CheckpointAPIVersion = receipt.APIVersion
	CheckpointKind       = "Checkpoint"
)

// Checkpoint is how far a target is prepared, and for whom. It is written after
// each step, so that a preparation that was killed goes on where it ended.
type Checkpoint struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Target     receipt.Target `json:"target"`
	// Repository is the first commit of the repository that the target belongs to,
	// until the pointers name it; empty if it is not known.
	Repository string           `json:"repository,omitempty"`
	Steps      []CheckpointStep `json:"steps,omitempty"`
	// Complete says that all steps were done. It stays while they are done again.
	Complete bool `json:"complete"`
	// Version is the store's own token for compare-and-swap; opaque.
	Version string `json:"-"`
}

// CheckpointStep is a step that was done.
type CheckpointStep struct {
	Name string    `json:"name"`
	Hash string    `json:"hash"`         // "sha256:…" of what the step holds: see PrepareStep.Hash
	By   string    `json:"by,omitempty"` // the version of the program that did it
	Time time.Time `json:"time"`
}

// Hash is SHA-256 over what the step holds: for each list, Create before Apply,
// the number of its objects, and for each of them the length of its JSON and that,
// numbers as 8 bytes, the highest first.
func (s PrepareStep) Hash() string {
	h := sha256.New()
	number := func(n int) { _ = binary.Write(h, binary.BigEndian, uint64(n)) } // a hash takes all
	for _, list := range [][]Object{s.Create, s.Apply} {
		number(len(list))
		for _, o := range list {
			number(len(o.JSON))
			h.Write(o.JSON)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// done says whether the step was done with this content.
func (c Checkpoint) done(s PrepareStep) bool {
	return slices.ContainsFunc(c.Steps, func(k CheckpointStep) bool { return k.Name == s.Name && k.Hash == s.Hash() })
}

// with returns the checkpoint after a step.
func (c Checkpoint) with(s CheckpointStep) Checkpoint {
	c.Steps = slices.DeleteFunc(slices.Clone(c.Steps), func(k CheckpointStep) bool { return k.Name == s.Name })
	c.Steps = append(c.Steps, s)
	return c
}
