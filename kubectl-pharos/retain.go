package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/reaper"
)

func newRetain(s *shared) *cobra.Command {
	o := &changeOptions{shared: s, done: "retained", do: func(ctx context.Context, c *reaper.Client, r reaper.Ref, how reaper.Change) (reaper.Object, error) {
		return c.Retain(ctx, r, how)
	}}
	cmd := &cobra.Command{
		Use:   "retain KIND/NAME...",
		Short: "Keep something until a person deletes it",
		Long: `Keep something until a person deletes it.

Its intent becomes retained, and when it was to end is forgotten. Neither it nor the
namespace that it is in ends by itself from then on.`,
		Example: `  kubectl pharos retain persistentvolumeclaim/data --namespace preview-42

  # All of a preview
  kubectl pharos retain namespace/preview-42`,
	}
	o.flags(cmd)
	return cmd
}
