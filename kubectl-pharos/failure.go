package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// failure is what programs are told of an error: in an object of the kind Error,
// or in the result of a command that has one all the same.
type failure struct {
	Error string `json:"error,omitempty"`
	// Reason is the class of the error, in one word, and ExitCode its number.
	Reason   string `json:"reason,omitempty"`
	ExitCode int    `json:"exitCode,omitempty"`
}

var reasons = map[int]string{
	exitNotSo: "Unsatisfied", exitUsage: "Unexpected", exitSource: "Source", exitUnreachable: "Unreachable",
	exitBlocked: "Blocked", exitUnhealthy: "Unhealthy", exitInterrupted: "Interrupted",
}

// failureOf says of an error what report says for people; nothing of none.
func failureOf(ctx context.Context, err error) failure {
	if err == nil {
		return failure{}
	}
	f := failure{Error: message(err), ExitCode: exitCode(err)}
	if _, ok := errors.AsType[*endedError](err); ok {
		return f
	}
	if ctx.Err() != nil && !errors.Is(err, errNotSo) {
		f.ExitCode = exitInterrupted
	}
	f.Reason = reasons[f.ExitCode]
	if f.ExitCode == exitUsage && errors.Is(err, errUsage) {
		f.Reason = "Usage"
	}
	return f
}

// noted is a writer that knows whether anything was written.
type noted struct {
	io.Writer
	any bool
}

func (n *noted) Write(b []byte) (int, error) {
	n.any = n.any || len(b) > 0
	return n.Writer.Write(b)
}

// printFailure tells a program that asked cmd for JSON or YAML, and was told
// nothing, of the error. Other formats pick fields of a result, which an error has
// not: who uses them has the exit code.
func printFailure(ctx context.Context, out *noted, cmd *cobra.Command, args []string, err error) error {
	f := failureOf(ctx, err)
	format := structured(cmd, args)
	if out.any || format == "" || f.Error == "" {
		return nil
	}
	path := strings.Fields(cmd.CommandPath()) // without "kubectl pharos"
	obj, err := newObject("Error", strings.Join(path[min(2, len(path)-1):], "-"), f)
	if err != nil {
		return err
	}
	o := &output{flags: genericclioptions.NewPrintFlags("")}
	o.flags.OutputFormat = &format
	return o.print(out, obj)
}

// structured is the format that a command was asked for in which everything can be
// said, empty for any other. Where the flags could not be parsed, the command line
// is looked at.
func structured(cmd *cobra.Command, args []string) string {
	flag := cmd.Flags().Lookup("output")
	if flag == nil {
		return ""
	}
	format := flag.Value.String()
	if !flag.Changed {
		format = formatIn(args)
	}
	if slices.Contains([]string{"json", "yaml"}, format) {
		return format
	}
	return ""
}

// formatIn finds the flag -o in arguments, however it is written.
func formatIn(args []string) string {
	for i, arg := range args {
		short, isShort := strings.CutPrefix(arg, "-o")
		long, isLong := strings.CutPrefix(arg, "--output=")
		switch {
		case arg == "--":
			return ""
		case (arg == "-o" || arg == "--output") && i+1 < len(args):
			return args[i+1]
		case isShort:
			return strings.TrimPrefix(short, "=")
		case isLong:
			return long
		}
	}
	return ""
}
