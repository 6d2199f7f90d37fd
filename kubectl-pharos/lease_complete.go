package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// completeApplications offers the target's Applications that are not named yet. A
// cluster that does not answer is not waited for: somebody is typing.
func (s *shared) completeApplications(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	// cobra adds a -- of its own at the end, which cannot be told from one that was
	// typed last. That comes after --exec.
	if cmd.Flags().Changed("exec") || cmd.ArgsLenAtDash() < len(args) {
		return nil, cobra.ShellCompDirectiveDefault // a command and its files
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	_, t, so, err := s.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := standard.Applications(ctx, t, so)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(args, n) }), cobra.ShellCompDirectiveNoFileComp
}
