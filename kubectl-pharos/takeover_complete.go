package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/receipt"
)

// completeWorkloads offers the Deployments of the target's live receipt that are not
// named yet. A cluster that does not answer is not waited for: somebody is typing.
func (s *shared) completeWorkloads(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	var names []string
	for _, o := range s.liveObjects(ctx) {
		if name := o.Namespace + "/" + o.Name; o.Group == "apps" && o.Kind == "Deployment" && !slices.Contains(args, name) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (s *shared) liveObjects(ctx context.Context) []receipt.Object {
	store, err := s.receipts(ctx)
	if err != nil {
		return nil
	}
	pointers, err := store.Pointers(ctx)
	if err != nil || pointers.Live == "" {
		return nil
	}
	record, err := store.Get(ctx, pointers.Live)
	if err != nil {
		return nil
	}
	return record.Objects
}

// completeTaken offers the workloads of the takeover of this checkout.
func (s *shared) completeTaken(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	doc, err := s.journal()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, w := range doc.Workloads {
		if name := w.Diversion.Namespace + "/" + w.Diversion.Name; !slices.Contains(args, name) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
