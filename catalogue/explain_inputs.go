package catalogue

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// explainInputs returns what differs between two pruned trees, or that they do
// if the files of one are not at hand.
func explainInputs(ctx context.Context, recordedOld, recordedNew *recorded, old, new source.Tree) ([]Reason, error) {
	oldID, newID := recordedOld.value(), recordedNew.value()
	unknown := []Reason{{Kind: ReasonInput, Old: oldID, New: newID}}
	if old.Objects == nil || new.Objects == nil || string(old.ID) != oldID.String() || string(new.ID) != newID.String() {
		return unknown, nil
	}
	changes, err := source.Diff(ctx, measured(old), measured(new))
	if errors.Is(err, source.ErrNotFound) {
		return unknown, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare the inputs %s and %s: %w", oldID, newID, err)
	}
	if len(changes) == 0 {
		return []Reason{{Kind: ReasonInput, Change: ChangeForm, Old: oldID, New: newID}}, nil
	}
	var reasons []Reason
	for _, c := range changes {
		for _, change := range kindsOf(c) {
			reasons = append(reasons, Reason{Kind: ReasonInput, Path: c.Path, Change: change})
		}
	}
	return reasons, nil
}

// kindsOf says what happened to a file. Its content and its mode may have changed
// at once; what another type holds cannot be compared.
func kindsOf(c source.Change) []Change {
	var kinds []Change
	switch {
	case c.Old.Mode == 0:
		return []Change{ChangeAdded}
	case c.New.Mode == 0:
		return []Change{ChangeRemoved}
	case c.Old.Mode.IsFile() != c.New.Mode.IsFile(), !c.Old.Mode.IsFile() && c.Old.Mode != c.New.Mode:
		return []Change{ChangeType}
	}
	if c.Old.ID != c.New.ID {
		kinds = append(kinds, ChangeModified)
	}
	if c.Old.Mode != c.New.Mode {
		kinds = append(kinds, ChangeMode)
	}
	return kinds
}
