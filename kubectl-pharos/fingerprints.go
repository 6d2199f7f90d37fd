package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/cachefile"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// cached returns a tree of the repository with what earlier commands computed of
// others, which the Git folder keeps that all its checkouts share.
func (s *shared) cached(repo *source.Repository, tree source.Tree) source.Tree {
	s.opened.Do(func() {
		if dir, err := repo.CommonDir(); err == nil {
			s.fingerprints = cachefile.Open(cachefile.Config{Path: filepath.Join(dir, "pharos", "fingerprints")})
		}
	})
	if s.fingerprints == nil {
		return tree
	}
	return catalogue.Cached(tree, s.fingerprints)
}

// keepFingerprints has each command keep what it computed once it is done, for the
// next one. What cannot be kept is computed again.
func (s *shared) keepFingerprints(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		s.keepFingerprints(sub)
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer func() {
			if s.fingerprints != nil {
				_ = s.fingerprints.Save()
			}
		}()
		return run(cmd, args)
	}
}
