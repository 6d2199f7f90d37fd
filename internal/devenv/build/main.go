// Command build builds the programs that the tests need beside Pharos, with progress on stderr. A test run that
// finds them built takes seconds where the first build takes minutes.
//
//	go run ./internal/devenv/build
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/pharos-dev/pharos/internal/devenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, build := range []func(context.Context, io.Writer) (string, error){devenv.Build, devenv.Kubectl} {
		path, err := build(ctx, os.Stderr)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			stop()
			os.Exit(1)
		}
		fmt.Println(path)
	}
}
