// Command kubectl-pharos is kubectl's plugin for Pharos: kubectl pharos. Every
// file but this one holds one subcommand or one thing that all of them share;
// what they do is in the library.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the kubeconfig may name any of them

	_ "github.com/pharos-dev/pharos/kubectl-pharos/internal/lategc" // before what the others initialise
)

func main() {
	quietKlog()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	out := &noted{Writer: streams.Out}
	streams.Out = out
	root := newRoot(streams)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if !out.any { // else it has begun
		err = hint(cmd, err)
	}
	return report(ctx, streams.ErrOut, errors.Join(err, printFailure(ctx, out, cmd, args, err)))
}
