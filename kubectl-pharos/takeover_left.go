package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"
)

// tellOfLeft has each command that works in a repository say that a takeover of the
// checkout was interrupted, and what can be done about it.
func (s *shared) tellOfLeft(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if name := sub.Name(); name != "takeover" && name != "handback" {
			s.tellOfLeft(sub)
		}
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		s.sayLeft(cmd.Context())
		return err
	}
}

// sayLeft looks where the command opened a repository, which costs a look at one folder.
// Only of a takeover that was interrupted the target is asked, where that was opened.
func (s *shared) sayLeft(ctx context.Context) {
	if s.gitDir == "" {
		return
	}
	if left := leftHere(ctx, filepath.Join(s.gitDir, "pharos", "takeover"), s.onTarget); left != nil {
		linef(s.ErrOut, "warning: %s", left)
	}
}
