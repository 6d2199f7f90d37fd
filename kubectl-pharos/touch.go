package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

func newTouch(s *shared) *cobra.Command {
	o := &changeOptions{shared: s, done: "touched", do: func(ctx context.Context, c *reaper.Client, r reaper.Ref, how reaper.Change) (reaper.Object, error) {
		return c.Touch(ctx, r, how)
	}}
	cmd := &cobra.Command{
		Use:   "touch KIND/NAME...",
		Short: "Say that something transient is in use",
		Long: `Say that something transient is in use, so that its TTL counts from now.

The time is the API server's. What says in ` + keys.ExpiresAt + ` when it ends is not
longer there by it: extend it. Reading an object is no activity.`,
		Example: `  kubectl pharos touch namespace/preview-42

  # From a script, as long as it runs
  while sleep 600; do kubectl pharos touch ns/preview-42; done`,
	}
	o.flags(cmd)
	return cmd
}
