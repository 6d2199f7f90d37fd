//go:build unix

package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What git has written when it is interrupted, by the user or since the disk is
// full, does not stay: nobody would remove it from among the objects.
func TestInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	snapshot(t, dir)
	began := filepath.Join(temp(t), "began")
	// One that does not get to the end of what it writes.
	program := filepath.Join(temp(t), "git")
	script := "#!/bin/sh\nfor arg; do test \"$arg\" = update-index && {\n" +
		"mkdir -p \"$GIT_OBJECT_DIRECTORY/ab\" && echo half >\"$GIT_OBJECT_DIRECTORY/ab/tmp_obj_half\"\n" +
		": >'" + began + "'; exec cat '" + began + ".pipe'; }; done\nexec git \"$@\"\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(began+".pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a", "edited")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Snapshot(ctx, Config{Dir: dir, Git: program, Env: testEnv()})
		ended <- err
	}()
	opened, err := os.OpenFile(began+".pipe", os.O_WRONLY, 0) // waits for the program to read
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(began); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(dir, ".git", "pharos"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "tmp") {
			t.Errorf("%s has been left", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := snapshot(t, dir).ID, reference(t, dir, ""); got != want {
		t.Errorf("git's tree is %s, not %s", want, got)
	}
}
