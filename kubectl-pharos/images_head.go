package main

import (
	"context"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/catalogue/source/worktree"
)

// computed is what a tree's catalogue says of its images.
type computed struct {
	tree      source.ID
	catalogue *catalogue.Catalogue
	states    []catalogue.State
	err       error // of States
}

// compute returns nil where there is nothing to compute of, whatever the reason.
func (s *shared) compute(ctx context.Context, repo *source.Repository) *computed {
	head, err := repo.Commit(ctx, "")
	if err != nil {
		return nil
	}
	tree := s.cached(repo, head.Tree)
	c, err := catalogue.Load(ctx, tree)
	if err != nil {
		return nil
	}
	states, err := c.States(ctx, tree)
	return &computed{tree.ID, c, states, err}
}

// workingTreeAndHead returns the working tree, and what is computed of HEAD while
// git looks at it: it mostly is the same, and else has most of its folders, which
// then are not read again.
func (s *shared) workingTreeAndHead(ctx context.Context) (source.Tree, *computed, error) {
	repo, err := source.Open(s.repo)
	if err != nil {
		tree, err := s.workingTree(ctx) // which says it in its own words
		return tree, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	head := make(chan *computed, 1)
	go func() { head <- s.compute(ctx, repo) }()
	tree, err := s.snapshot(ctx, worktree.Config{Repository: repo})
	if err != nil {
		cancel()
	}
	found := <-head
	cancel()
	return s.cached(repo, tree), found, err
}
