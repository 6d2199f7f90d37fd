package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/reaper"
)

func newRetain(s *shared) *cobra.Command {
	o := &changeOptions{shared: s, done: "retained", do: func(ctx context.Context, c *reaper.Client, r reaper.Ref, how reaper.Change) (reaper.Object, error) {
		return c.Retain(ctx, r, how)
	}, warn: goesAnyway}
	cmd := &cobra.Command{
		Use:   "retain KIND/NAME...",
		Short: "Keep something until a person deletes it",
		Long: `Keep something until a person deletes it.

Its intent becomes retained, and when it was to end is forgotten. Neither it nor the
namespace that it is in is ended by Pharos from then on. Kubernetes itself still deletes
it where it goes with something else:

  - with its owner, such as the StatefulSet of a claim or an operator's resource: it is
    warned of that. Retain the owner, or remove the reference to it
  - with its namespace, where whoever ends that does not look at it (--unseen)
  - a PersistentVolume whose reclaimPolicy is Delete with its claim: retain that too`,
		Example: `  kubectl pharos retain persistentvolumeclaim/data --namespace preview-42

  # All of a preview
  kubectl pharos retain namespace/preview-42`,
	}
	o.flags(cmd)
	return cmd
}

// goesAnyway says with what an object goes although it is retained.
func goesAnyway(o reaper.Object) string {
	switch len(o.Owners) {
	case 0:
		return ""
	case 1:
		return "it goes with its owner " + o.Owners[0] + ": retain that, or remove the reference"
	}
	return "it goes with its owners " + strings.Join(o.Owners, ", ") + ": retain one of them, or remove the references"
}
