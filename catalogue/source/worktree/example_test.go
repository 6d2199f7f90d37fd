package worktree_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue/source/worktree"
)

// A file that is not committed, nor even known to git, is in the tree; the tree
// is that of the commit that follows.
func ExampleSnapshot() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			panic(err)
		}
		return string(out)
	}
	git("init", "--quiet", "--object-format=sha1")
	if err := os.WriteFile(filepath.Join(dir, "greeting"), []byte("hello\n"), 0o644); err != nil {
		panic(err)
	}

	tree, err := worktree.Snapshot(context.Background(), worktree.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	content, err := tree.ReadFile(context.Background(), "greeting")
	fmt.Printf("%s %q %v\n", tree.ID, content, err)

	git("add", "--all")
	fmt.Print(git("write-tree"))
	// Output:
	// 9fbac661424a5e1e7fb9c1a6a516b58fc701f2f0 "hello\n" <nil>
	// 9fbac661424a5e1e7fb9c1a6a516b58fc701f2f0
}
