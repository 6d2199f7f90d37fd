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
	// cobra ends what it completes with a -- of its own, which is an argument only
	// after another one.
	if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash < len(args) {
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
