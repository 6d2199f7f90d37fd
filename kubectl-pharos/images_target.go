package main

import (
	"github.com/spf13/cobra"
)

// onlyTarget is what --target without a name has for one.
const onlyTarget = "<the only one>"

// addOptionalTarget adds a --target whose name may be left out.
func addOptionalTarget(cmd *cobra.Command, s *shared) {
	cmd.Flags().StringVar(&s.target, "target", "", "Ask the registry of this target which of the images it has; the name is needed if pharos.yaml has several")
	cmd.Flags().Lookup("target").NoOptDefVal = onlyTarget
	_ = cmd.RegisterFlagCompletionFunc("target", s.completeTargets)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if s.target != onlyTarget || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return s.completeTargets(cmd, args, begun)
	}
}

// askTarget notes whether --target was given. A flag whose value may be left out takes
// it by "=" alone: the word after it is an argument, and is the name here.
func (o *imagesOptions) askTarget(given bool, args *[]string) {
	o.pushed = given
	if o.target == onlyTarget && len(*args) > 0 {
		o.target, *args = (*args)[0], (*args)[1:]
	}
}
