package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// explainUsage has mistakes in flags and arguments found before any work, and told as
// such.
func explainUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(flagError(err)) })
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
			err = cmd.ValidateRequiredFlags()
		}
		if err == nil {
			return nil
		}
		if guesses := guess(cmd, args); len(guesses) > 0 {
			err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(guesses, " or "))
		}
		return usage(err)
	}
}

// flagError says of a value that a flag cannot have what it has to be, and the value
// once: what reads values repeats it.
func flagError(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	f := wrong.GetFlag()
	is := fmt.Sprintf("--%s is %q", f.Name, wrong.GetValue())
	if what := valuesOf(f.Value); what != "" {
		return fmt.Errorf("%s, and must be %s", is, what)
	}
	return fmt.Errorf("%s: %w", is, wrong.Unwrap())
}

// valuesOf are those that a flag of one of the usual types may have; empty of another.
func valuesOf(v pflag.Value) string {
	if _, own := v.(*duration); own {
		return ""
	}
	switch v.Type() {
	case "duration":
		return "a duration such as 90s, 5m or 1h30m"
	case "int", "int32", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	}
	return ""
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

// meant adds to a refusal which subcommand the first of args nearly is, which was taken
// for the name of something. Before the refusal it may well have been one.
func meant(cmd *cobra.Command, args []string, err error) error {
	guesses := guess(cmd, args)
	refused := exitCode(err) == exitBlocked || errors.Is(err, takeover.ErrUnknownWorkload)
	if !refused || len(guesses) == 0 {
		return err
	}
	return fmt.Errorf("%w\nIf a command was meant: %s %s", err, cmd.CommandPath(), strings.Join(guesses, " or "))
}

// usage is what is wrong with a command line, nil if nothing is. Every check of flags and
// arguments returns it.
func usage(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return misused{err}
	}
	return nil
}

// hint has a mistake on the command line say where the help is.
func hint(cmd *cobra.Command, err error) error {
	if !errors.Is(err, errUsage) || exitCode(err) != exitUsage {
		return err
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
