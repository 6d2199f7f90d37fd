package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// A command is started anew when a file that it is made of is saved.
func Example() {
	root, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	save := func(text string) {
		next := filepath.Join(root, "next") // which takes the file's place at once, as editors save
		if err := errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, filepath.Join(root, "greeting"))); err != nil {
			panic(err)
		}
	}
	save("hello\n")
	inputs, err := catalogue.ParsePatterns([]string{"greeting"})
	if err != nil {
		panic(err)
	}
	store, err := supervise.NewFile(filepath.Join(root, "budget"))
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r, err := runtime.New(runtime.Config{
		Spec: runtime.Spec{
			Name: "greeter", Root: root, Inputs: inputs,
			Command: []string{"/bin/sh", "-c", "cat greeting; exec tail -f /dev/null"},
			Env:     []string{"PATH=/bin:/usr/bin"},
		},
		Store: store, Environ: os.Environ(),
		Output: lineFunc(func(line string) {
			fmt.Print(line)
			if line == "hello\n" {
				save("hello again\n")
			} else {
				stop()
			}
		}),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Run(ctx), r.State().Phase)
	// Output:
	// hello
	// hello again
	// <nil> stopped
}

type lineFunc func(line string)

func (f lineFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}
