package watch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/takeover/watch"
)

func ExampleRun() {
	root, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	files, err := catalogue.ParsePatterns([]string{"*.go", "!*_test.go"})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	first := true
	err = watch.Run(ctx, watch.Config{Root: root, Files: files, Env: os.Environ(), Changed: func(c watch.Change) {
		if first {
			first = false
			_ = os.WriteFile(filepath.Join(root, "main_test.go"), nil, 0o600)
			_ = os.WriteFile(filepath.Join(root, "main.go"), []byte("package main\n"), 0o600)
			return
		}
		fmt.Println(c.Paths)
		stop()
	}})
	fmt.Println(err)
	// Output:
	// [main.go]
	// <nil>
}
