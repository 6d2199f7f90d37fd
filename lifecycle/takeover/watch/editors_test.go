package watch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/watch"
)

// However an editor saves, the file has changed, and nothing else has.
func TestEditorsSave(t *testing.T) {
	t.Parallel()
	rename := func(t *testing.T, root, from, to string) {
		must(t, os.Rename(filepath.Join(root, from), filepath.Join(root, to)))
	}
	remove := func(t *testing.T, root, name string) { must(t, os.Remove(filepath.Join(root, name))) }
	editors := map[string]func(t *testing.T, root, text string){
		"in place": func(t *testing.T, root, text string) { write(t, root, "src/main.go", text) },
		"another file that takes its place": func(t *testing.T, root, text string) {
			write(t, root, "src/main.go.tmp.1234", text)
			rename(t, root, "src/main.go.tmp.1234", "src/main.go")
		},
		"a backup, and a new file": func(t *testing.T, root, text string) { // vim
			write(t, root, "src/4913", "")
			remove(t, root, "src/4913")
			rename(t, root, "src/main.go", "src/main.go~")
			write(t, root, "src/main.go", text)
			remove(t, root, "src/main.go~")
		},
		"two renames": func(t *testing.T, root, text string) { // JetBrains
			write(t, root, "src/main.go___jb_tmp___", text)
			rename(t, root, "src/main.go", "src/main.go___jb_old___")
			rename(t, root, "src/main.go___jb_tmp___", "src/main.go")
			remove(t, root, "src/main.go___jb_old___")
		},
		"with a link that locks it": func(t *testing.T, root, text string) { // Emacs
			must(t, os.Symlink("ann@desk.1:1", filepath.Join(root, "src/.#main.go")))
			write(t, root, "src/#main.go#", text)
			write(t, root, "src/main.go", text)
			remove(t, root, "src/#main.go#")
			remove(t, root, "src/.#main.go")
		},
		"removed first": func(t *testing.T, root, text string) {
			remove(t, root, "src/main.go")
			write(t, root, "src/main.go", text)
		},
	}
	for name, save := range editors {
		for _, polling := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/polling=%v", name, polling), func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				write(t, root, "src/main.go", "0")
				m := model{"src/main.go": {"file", "0"}}
				r := start(t, watch.Config{Root: root, Files: patterns(t, "src/**", "!**/.#*", "!**/#*", "!**/*~", "!**/4913", "!**/*.tmp.*", "!**/*___"), Polling: polling, Poll: time.Millisecond}, m)
				for i := range 5 {
					text := fmt.Sprint(i + 1)
					save(t, root, text)
					m["src/main.go"] = entry{"file", text}
					for want := m.state(); r.last.State != want; {
						if c := r.next(); !slices.Equal(c.Paths, []string{"src/main.go"}) {
							t.Errorf("the paths are %q", c.Paths)
						}
					}
				}
			})
		}
	}
}

// A name that changes in case alone is another one, also where both find the file.
func TestRenameOfCase(t *testing.T) {
	t.Parallel()
	for _, polling := range []bool{false, true} {
		t.Run(fmt.Sprint(polling), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, "src/readme", "0")
			write(t, root, "src/lib/x", "0")
			m := model{"src/readme": {"file", "0"}, "src/lib/x": {"file", "0"}}
			r := start(t, watch.Config{Root: root, Files: patterns(t, "src"), Polling: polling, Poll: time.Millisecond}, m)
			must(t, os.Rename(filepath.Join(root, "src/readme"), filepath.Join(root, "src/README")))
			delete(m, "src/readme")
			m["src/README"] = entry{"file", "0"}
			r.until(m)
			must(t, os.Rename(filepath.Join(root, "src/lib"), filepath.Join(root, "src/Lib")))
			delete(m, "src/lib/x")
			m["src/Lib/x"] = entry{"file", "0"}
			r.until(m)
		})
	}
}

// Another branch is another content of many files, however many folders come and go.
func TestCheckout(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	env := append(repository(t, root), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	commit := func(branch string) model {
		m := model{}
		git(t, root, env, "checkout", "--quiet", "--orphan", branch)
		must(t, os.RemoveAll(filepath.Join(root, "src")))
		for i := range 200 {
			name := fmt.Sprintf("src/%s%d/file%d", branch, i%20, i)
			if i%2 == 0 {
				name = fmt.Sprintf("src/both/file%d", i)
			}
			write(t, root, name, branch)
			m[name] = entry{"file", branch}
		}
		git(t, root, env, "add", "--all")
		git(t, root, env, "commit", "--quiet", "--message", branch)
		return m
	}
	one, two := commit("one"), commit("two")
	r := start(t, watch.Config{Root: root, Files: patterns(t, "src"), Env: env}, two)
	for range 3 {
		git(t, root, env, "checkout", "--quiet", "one")
		r.until(one)
		git(t, root, env, "checkout", "--quiet", "two")
		r.until(two)
	}
}
