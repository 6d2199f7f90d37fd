// Command build builds the programs that the tests need beside Pharos, with progress on stderr. A test run that
// finds them built takes seconds where the first build takes minutes.
//
//	go run ./internal/devenv/build
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"

	"github.com/pharos-dev/pharos/internal/devenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	paths, err := build(ctx, os.Stderr)
	for _, path := range paths {
		fmt.Println(path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// build returns the paths of what was built before a failure.
func build(ctx context.Context, out io.Writer) (paths []string, err error) {
	for _, build := range []func(context.Context, io.Writer) (string, error){devenv.Build, devenv.Kubectl, devenv.ArgoCDProgram} {
		path, err := build(ctx, out)
		if err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	if runtime.GOOS != "linux" {
		return paths, nil
	}
	node, err := devenv.NodePrograms(ctx, out)
	if err != nil {
		return paths, err
	}
	paths = append(paths, slices.Sorted(maps.Values(node))...)
	buildkitd, buildctl, err := devenv.BuildKitPrograms(ctx, out)
	if err != nil {
		return paths, err
	}
	return append(paths, buildkitd, buildctl), nil
}
