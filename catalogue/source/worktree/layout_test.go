package worktree

import (
	"path/filepath"
	"testing"
)

// layoutCases are checkouts that are more than a folder with all files.
var layoutCases = []struct {
	name string
	set  func(t *testing.T) (dir, sub string)
}{
	{"sparse checkout", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		runGit(t, dir, "sparse-checkout", "set", "--cone", "--no-sparse-index", "d", "f")
		write(t, dir, "d/a", "edited")
		remove(t, dir, "d/e/a")
		write(t, dir, "d/new", "new")
		return dir, ""
	}},
	{"sparse checkout of patterns", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, ".gitattributes", "* text\n")
		commit(t, dir)
		runGit(t, dir, "sparse-checkout", "set", "--no-cone", "/d/", "/f/")
		write(t, dir, "d/a", "edited\r\n")
		write(t, dir, "d/new", "new\r\n")
		return dir, ""
	}},
	{"sparse index", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, "g/deep/a", "outside")
		commit(t, dir)
		runGit(t, dir, "sparse-checkout", "set", "--cone", "--sparse-index", "d", "f")
		write(t, dir, "d/a", "edited")
		remove(t, dir, "d/b")
		return dir, ""
	}},
	{"a file outside of a sparse checkout", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		write(t, dir, "g/a", "outside")
		commit(t, dir)
		runGit(t, dir, "sparse-checkout", "set", "--cone", "d", "f")
		write(t, dir, "g/a", "made again, and not taken")
		return dir, ""
	}},
	{"submodules", func(t *testing.T) (string, string) {
		dir, lib := newRepo(t), newRepo(t)
		for _, name := range []string{"clean", "dirty", "moved", "staged", "gone", "nested/sub", "uninitialised"} {
			runGit(t, dir, "submodule", "--quiet", "add", lib, name)
		}
		commit(t, dir)
		runGit(t, dir, "submodule", "--quiet", "deinit", "uninitialised")
		write(t, dir, "dirty/a", "edited")
		write(t, dir, "dirty/new", "new")
		for _, name := range []string{"moved", "staged", "nested/sub"} {
			commit(t, filepath.Join(dir, name))
		}
		runGit(t, dir, "config", "submodule.moved.ignore", "all")
		runGit(t, dir, "config", "diff.ignoreSubmodules", "all")
		runGit(t, dir, "add", "staged")
		remove(t, dir, "gone")
		return dir, ""
	}},
	{"inside of a submodule", func(t *testing.T) (string, string) {
		dir, lib := newRepo(t), newRepo(t)
		runGit(t, dir, "submodule", "--quiet", "add", lib, "sub")
		commit(t, dir)
		write(t, dir, "sub/d/a", "edited")
		write(t, dir, "a", "edited")
		return dir, "sub"
	}},
	{"partial clone", func(t *testing.T) (string, string) {
		from, dir := newRepo(t), temp(t)
		runGit(t, from, "config", "uploadpack.allowFilter", "true")
		write(t, from, "d/.gitattributes", "* text\n")
		write(t, from, "g/.gitattributes", "* text\n")
		write(t, from, "g/never fetched", "1")
		commit(t, from)
		runGit(t, dir, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+from, "clone")
		dir = filepath.Join(dir, "clone")
		runGit(t, dir, "sparse-checkout", "set", "--cone", "d", "f")
		runGit(t, dir, "checkout", "-q", "main")
		runGit(t, dir, "remote", "set-url", "origin", "file:///nowhere")
		runGit(t, dir, "sparse-checkout", "add", "new")
		write(t, dir, "d/a", "edited")
		write(t, dir, "new/x", "new")
		return dir, ""
	}},
	{"alternates of alternates", func(t *testing.T) (string, string) {
		from := newRepo(t)
		for range 5 {
			to := filepath.Join(temp(t), "clone")
			runGit(t, from, "clone", "-q", "--shared", from, to)
			from = to
		}
		write(t, from, "d/a", "edited")
		write(t, from, "new", "new")
		return from, ""
	}},
	{"SHA-256", func(t *testing.T) (string, string) {
		dir := temp(t)
		runGit(t, dir, "init", "-q", "--object-format=sha256")
		write(t, dir, "a", "1")
		write(t, dir, "d/a", "1")
		commit(t, dir)
		write(t, dir, "a", "2")
		write(t, dir, "d/b", "2")
		return dir, ""
	}},
	{"SHA-256 and nothing left", func(t *testing.T) (string, string) {
		dir := temp(t)
		runGit(t, dir, "init", "-q", "--object-format=sha256")
		write(t, dir, "a", "1")
		commit(t, dir)
		remove(t, dir, "a")
		return dir, ""
	}},
	{"SHA-256 and no commit", func(t *testing.T) (string, string) {
		dir := temp(t)
		runGit(t, dir, "init", "-q", "--object-format=sha256")
		return dir, ""
	}},
	{"file system monitor", func(t *testing.T) (string, string) {
		dir := newRepo(t)
		// One that says that nothing has changed, and that it was asked.
		write(t, dir, ".git/monitor", "#!/bin/sh\necho asked >>.git/asked\nprintf 'token\\0'\n")
		chmod(t, dir, ".git/monitor", 0o755)
		runGit(t, dir, "config", "core.fsmonitor", ".git/monitor")
		runGit(t, dir, "update-index", "--fsmonitor")
		runGit(t, dir, "status")
		runGit(t, dir, "status")
		runGit(t, dir, "config", "core.fsmonitor", "false") // the reference asks none either
		write(t, dir, "a", "edited")
		return dir, ""
	}},
}
