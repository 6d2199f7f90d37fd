package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// headFields compare HEAD with what was applied.
type headFields struct {
	Commit    string `json:"commit"`
	Delivered bool   `json:"delivered"` // it is the applied commit
	// Ahead is how many commits HEAD is ahead of the applied one, by first
	// parents; 0 if that cannot be told.
	Ahead int `json:"ahead,omitempty"`
	// Neutral says that what differs from the applied commit reaches no image and
	// nothing that is delivered, as the patterns of both commits say.
	Neutral bool `json:"neutral,omitempty"`

	subject    string
	rolledBack bool // the applied receipt is a rollback
}

// maxAhead bounds how many commits are counted.
const maxAhead = 1000

func headOf(ctx context.Context, repo *source.Repository, st lifecycle.Status) (headFields, error) {
	head, err := repo.Commit(ctx, "")
	if err != nil {
		return headFields{}, err
	}
	f := headFields{Commit: string(head.ID), subject: head.Subject}
	if st.Applied == nil {
		return f, nil
	}
	f.rolledBack = st.Applied.Record.RollbackOf != ""
	if f.Neutral, err = isNeutral(ctx, head.Tree, st.Applied.Record); err != nil {
		return headFields{}, err
	}
	at := head
	for n := range maxAhead {
		if string(at.ID) == st.Applied.Record.Commit {
			f.Delivered, f.Ahead, f.Neutral = n == 0, n, f.Neutral && n > 0
			return f, nil
		}
		if len(at.Parents) == 0 {
			break
		}
		at, err = repo.Commit(ctx, string(at.Parents[0]))
		if errors.Is(err, source.ErrNotFound) {
			break // the clone is shallow
		}
		if err != nil {
			return headFields{}, err
		}
	}
	return f, nil
}

// isNeutral compares a tree with the one of a record. Where they cannot be compared,
// as in a shallow clone, it is not.
func isNeutral(ctx context.Context, tree source.Tree, applied receipt.Record) (bool, error) {
	changes, err := catalogue.Classify(ctx, source.Tree{ID: source.ID(applied.Tree), Objects: tree.Objects}, tree, applied.Reads)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	notNeutral := func(c catalogue.PathClass) bool { return c.Class != catalogue.ClassNeutral }
	return err == nil && !slices.ContainsFunc(changes, notNeutral), nil
}

func (f headFields) String() string {
	where := "not what was applied"
	switch {
	case f.Ahead == 1:
		where = "1 commit ahead of what was applied"
	case f.Ahead > 1:
		where = fmt.Sprintf("%d commits ahead of what was applied", f.Ahead)
	}
	next := ": kubectl pharos reconcile"
	switch {
	case f.rolledBack && !f.Neutral:
		next = "; kubectl pharos reconcile delivers it, and so ends the rollback"
	case f.Neutral:
		next = ", and nothing of what is built or delivered differs"
	}
	return fmt.Sprintf("%s %q, %s%s", shortID(f.Commit), f.subject, where, next)
}
