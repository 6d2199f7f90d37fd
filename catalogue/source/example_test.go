package source_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// A program without a repository makes its tree in memory. Its ID is the one
// that git computes for the same files.
func ExampleFromFiles() {
	tree, err := source.FromFiles(map[string]source.File{
		"README":     {Content: "hello\n"},
		"bin/run":    {Content: "#!/bin/sh\n", Mode: source.ModeExecutable},
		"bin/latest": {Content: "run", Mode: source.ModeSymlink},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = tree.Walk(context.Background(), func(path string, e source.Entry) error {
		fmt.Printf("%06o %.7s %s\n", e.Mode, e.ID, path)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 100644 ce01362 README
	// 040000 2d9d46e bin
	// 120000 e5224d5 bin/latest
	// 100755 1a24852 bin/run
}

// What a branch changed, file by file.
func ExampleDiff() {
	ctx := context.Background()
	before, err := source.FromFiles(map[string]source.File{"api/main.go": {Content: "1"}, "docs/a.md": {Content: "1"}})
	if err != nil {
		log.Fatal(err)
	}
	after, err := source.FromFiles(map[string]source.File{"api/main.go": {Content: "2"}, "docs/a.md": {Content: "1"}, "api/new.go": {}})
	if err != nil {
		log.Fatal(err)
	}
	changes, err := source.Diff(ctx, before, after)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range changes {
		switch {
		case c.Old.Mode == 0:
			fmt.Println("added", c.Path)
		case c.New.Mode == 0:
			fmt.Println("removed", c.Path)
		default:
			fmt.Println("changed", c.Path)
		}
	}
	// Output:
	// changed api/main.go
	// added api/new.go
}

// Everything that cannot be written is reported at once.
func ExampleExport() {
	tree, err := source.FromFiles(map[string]source.File{
		"etc":    {Content: "/etc", Mode: source.ModeSymlink},
		"vendor": {Content: "8fbb4ac08f0b5a0c5d4e7a4de0a92b3c8f4a5b6c", Mode: source.ModeSubmodule},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(source.Export(context.Background(), tree, filepath.Join(os.TempDir(), "never-made")))
	// Output:
	// etc is a symbolic link out of the tree: to "/etc"
	// vendor is a submodule, whose files are in another repository
}

// The files of a commit, written without a checkout.
func ExampleRepository() {
	ctx := context.Background()
	repo, err := source.Open(".")
	if err != nil {
		log.Fatal(err)
	}
	commit, err := repo.Commit(ctx, "v1.2~3")
	if err != nil {
		log.Fatal(err)
	}
	if err := source.Export(ctx, commit.Tree, "/tmp/v1.2"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(commit.ID, commit.Subject)
}
