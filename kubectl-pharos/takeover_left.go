package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
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
func (s *shared) sayLeft(ctx context.Context) {
	if s.gitDir == "" {
		return
	}
	folder := filepath.Join(s.gitDir, "pharos", "takeover")
	doc, err := takeover.Left(folder)
	if err != nil {
		return // there is none, or the next takeover says what is wrong with it
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := guardian.Connect(ctx, folder); !errors.Is(err, guardian.ErrNotRunning) {
		return
	}
	linef(s.ErrOut, "warning: a takeover of target %s, begun %s, was interrupted here. %s", doc.Target, doc.Began.Local().Format(time.DateTime), interruptedNext)
}
