package worktree

import (
	"context"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// What is done meanwhile gets the tree of HEAD, once, and has ended.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "a", "edited")
	want := source.ID(runGit(t, dir, "rev-parse", "HEAD^{tree}"))
	var got []source.ID
	var read string
	tree, err := Snapshot(t.Context(), Config{Dir: dir, Env: testEnv(), Meanwhile: func(ctx context.Context, head source.Tree) {
		content, err := head.ReadFile(ctx, "a")
		if err != nil {
			t.Error(err)
		}
		got, read = append(got, head.ID), string(content)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != want || read != "this is a\n" || tree.ID == want {
		t.Errorf("it was called with the trees %v, want %s, and read %q", got, want, read)
	}

	unborn := temp(t)
	runGit(t, unborn, "init", "-q")
	if _, err := Snapshot(t.Context(), Config{Dir: unborn, Env: testEnv(), Meanwhile: func(context.Context, source.Tree) {
		t.Error("there is no commit, and it was called")
	}}); err != nil {
		t.Fatal(err)
	}
}
