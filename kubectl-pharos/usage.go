package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// explainUsage has mistakes in flags and arguments say where the help is.
func explainUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(usageError)
	for _, sub := range cmd.Commands() {
		explainUsage(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			err = checkEmpty(cmd, args)
		}
		if err == nil {
			return nil
		}
		if guesses := guess(cmd, args); len(guesses) > 0 {
			err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(guesses, " or "))
		}
		return usageError(cmd, err)
	}
}

// noArgs is for a command without arguments and without subcommands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, and there is %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// guess returns the subcommands that are spelt nearly like the one given.
func guess(cmd *cobra.Command, args []string) []string {
	if len(args) == 0 || !cmd.HasSubCommands() {
		return nil
	}
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	return cmd.SuggestionsFor(args[0])
}

func usageError(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return misused{fmt.Errorf("%w\nSee %s --help", err, cmd.CommandPath())}
}

// misused is an error in what was written on the command line.
type misused struct{ error }

func (e misused) Unwrap() []error { return []error{errUsage, e.error} }

// group makes a command that only has subcommands: alone it shows its help.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}
