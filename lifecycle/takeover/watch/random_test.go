package watch_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/watch"
)

// After random edits, however they come, the State that is told is that of the files.
func TestRandomEdits(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]watch.Config{
		"events":       {},
		"short bursts": {Quiet: time.Microsecond, Longest: time.Microsecond},
		"polling":      {Polling: true, Poll: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					e := newEditor(t, seed)
					c := config
					c.Root, c.Files, c.Env = e.root, patterns(t, "src", "go.mod", "!**/*.md"), repository(t, e.root)
					write(t, e.root, ".gitignore", "junk/\n*.pyc\n")
					r := start(t, c, e.model)
					for range 60 {
						for range 1 + e.IntN(12) {
							e.edit()
						}
						r.until(e.model)
					}
				})
			}
		})
	}
}

// editor edits a tree at random, and keeps the model of it.
type editor struct {
	*rand.Rand
	t     *testing.T
	root  string
	away  string // outside of what is watched
	model model
	dirs  map[string]bool // below src
	count int
}

func newEditor(t *testing.T, seed uint64) *editor {
	e := &editor{Rand: rand.New(rand.NewPCG(seed, 7)), t: t, root: t.TempDir(), away: t.TempDir(), model: model{}, dirs: map[string]bool{"src": true}}
	must(t, os.Mkdir(e.path("src"), 0o755))
	return e
}

func (e *editor) path(name string) string { return filepath.Join(e.root, name) }

// fresh is a name that there was not.
func (e *editor) fresh() string {
	e.count++
	odd := []string{"a", "new\nline", ":(top)x", "-n", "*", "[x]", "!y", `back\slash`, "ü", "\xff", " ", "'\"", "{{.OS}}"}
	return fmt.Sprintf("%s%d", odd[e.IntN(len(odd))], e.count)
}

func (e *editor) content() string { return strings.Repeat(fmt.Sprint(e.Uint64()), e.IntN(3)) }

func pick[K comparable, V any](e *editor, m map[K]V, less func(a, b K) int) (K, bool) {
	keys := slices.SortedFunc(maps.Keys(m), less)
	if len(keys) == 0 {
		var none K
		return none, false
	}
	return keys[e.IntN(len(keys))], true
}

func (e *editor) file() (string, bool) { return pick(e, e.model, strings.Compare) }

func (e *editor) dir() string {
	d, _ := pick(e, e.dirs, strings.Compare)
	return d
}

// below calls visit with all that the model has of a folder.
func (e *editor) below(dir string, visit func(name string, file bool)) {
	for _, name := range slices.Sorted(maps.Keys(e.model)) {
		if strings.HasPrefix(name, dir+"/") {
			visit(name, true)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.dirs)) {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			visit(name, false)
		}
	}
}

func (e *editor) drop(dir string) {
	e.below(dir, func(name string, file bool) {
		delete(e.model, name)
		delete(e.dirs, name)
	})
}

func (e *editor) save(name, content string) {
	kind := "file"
	if old, ok := e.model[name]; ok {
		if kind = old.kind; kind == "link" {
			must(e.t, os.Remove(e.path(name)))
			kind = "file"
		}
	}
	must(e.t, os.WriteFile(e.path(name), []byte(content), 0o644))
	e.model[name] = entry{kind, content}
}

func (e *editor) edit() {
	file, some := e.file()
	dir := e.dir()
	switch op := e.IntN(17); {
	case op <= 2 || !some: // a new file
		e.save(path.Join(dir, e.fresh()), e.content())
	case op == 3: // written in place
		e.save(file, e.content())
	case op == 4: // as editors save: another file that is renamed
		must(e.t, os.WriteFile(e.path(file)+".tmp", []byte("x"), 0o644))
		must(e.t, os.Rename(e.path(file)+".tmp", e.path(file)))
		e.model[file] = entry{"file", "x"}
	case op == 5:
		must(e.t, os.Remove(e.path(file)))
		delete(e.model, file)
	case op == 6: // renamed
		to := path.Join(dir, e.fresh())
		must(e.t, os.Rename(e.path(file), e.path(to)))
		e.model[to] = e.model[file]
		delete(e.model, file)
	case op == 7: // folders in each other, with a file at the end
		for range 1 + e.IntN(4) {
			dir = path.Join(dir, e.fresh())
			e.dirs[dir] = true
		}
		must(e.t, os.MkdirAll(e.path(dir), 0o755))
		e.save(path.Join(dir, e.fresh()), e.content())
	case op == 8 && dir != "src": // a folder goes, and may come back at once
		must(e.t, os.RemoveAll(e.path(dir)))
		e.drop(dir)
		if e.IntN(2) == 0 {
			must(e.t, os.Mkdir(e.path(dir), 0o755))
			e.dirs[dir] = true
			e.save(path.Join(dir, e.fresh()), e.content())
		}
	case op == 9 && dir != "src": // a folder is renamed, with all in it
		to := path.Join(e.dir(), e.fresh())
		if strings.HasPrefix(to, dir+"/") {
			return
		}
		must(e.t, os.Rename(e.path(dir), e.path(to)))
		e.below(dir, func(name string, file bool) {
			moved := to + strings.TrimPrefix(name, dir)
			if file {
				e.model[moved] = e.model[name]
				delete(e.model, name)
			} else {
				delete(e.dirs, name)
				e.dirs[moved] = true
			}
		})
	case op == 10 && dir != "src": // away and back
		must(e.t, os.Rename(e.path(dir), filepath.Join(e.away, "x")))
		must(e.t, os.Rename(filepath.Join(e.away, "x"), e.path(dir)))
	case op == 11: // a file becomes a folder
		must(e.t, os.Remove(e.path(file)))
		delete(e.model, file)
		if !strings.HasPrefix(file, "src/") {
			return
		}
		must(e.t, os.Mkdir(e.path(file), 0o755))
		e.dirs[file] = true
	case op == 12:
		name := path.Join(dir, e.fresh())
		target := "../" + e.fresh()
		if strings.Contains(target, "\xff") {
			target = "x"
		}
		must(e.t, os.Symlink(target, e.path(name)))
		e.model[name] = entry{"link", target}
	case op == 13 && e.model[file].kind != "link":
		must(e.t, os.Chmod(e.path(file), 0o755))
		e.model[file] = entry{"program", e.model[file].content}
	case op == 14 && e.model[file].kind != "link": // touched
		now := time.Now().Add(time.Duration(e.IntN(3)) * time.Hour)
		must(e.t, os.Chtimes(e.path(file), now, now))
	case op == 15: // what does not count
		for _, name := range []string{"README", ".git/x", "junk/a", dir + "/x.pyc", dir + "/notes.md", dir + "/junk/b"} {
			write(e.t, e.root, name, e.content())
		}
	case op == 16:
		e.save("go.mod", e.content())
	}
}
