package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// headFields compare HEAD with what was applied.
type headFields struct {
	Commit    string `json:"commit"`
	Delivered bool   `json:"delivered"` // it is the applied commit
	// Ahead is how many commits HEAD is ahead of the applied one, by first
	// parents; 0 if that cannot be told.
	Ahead int `json:"ahead,omitempty"`

	subject string
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
	at := head
	for n := range maxAhead {
		if string(at.ID) == st.Applied.Record.Commit {
			f.Delivered, f.Ahead = n == 0, n
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

func (f headFields) String() string {
	where := "not what was applied"
	switch {
	case f.Ahead == 1:
		where = "1 commit ahead of what was applied"
	case f.Ahead > 1:
		where = fmt.Sprintf("%d commits ahead of what was applied", f.Ahead)
	}
	return fmt.Sprintf("%s %q, %s: kubectl pharos reconcile", shortID(f.Commit), f.subject, where)
}
