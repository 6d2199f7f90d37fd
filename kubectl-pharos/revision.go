package main

import (
	"context"

	"github.com/spf13/cobra"
)

// atRevision runs a command whose only argument, which may be missing, is a
// revision.
func atRevision(rev *string, run func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			*rev = args[0]
		}
		return run(cmd.Context())
	}
}
