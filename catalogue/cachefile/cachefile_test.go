package cachefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

func key(n int) catalogue.CacheKey {
	var k catalogue.CacheKey
	copy(k[:], fmt.Sprintf("%032d", n*7919%10_000))
	return k
}

// inFolder returns the configuration of a file that is not there yet.
func inFolder(t testing.TB) Config {
	t.Helper()
	return Config{Path: filepath.Join(t.TempDir(), "pharos", "fingerprints")}
}

func save(t testing.TB, f *File) {
	t.Helper()
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, f *File, n int, value string) {
	t.Helper()
	if got := string(f.Get(key(n))); got != value {
		t.Errorf("value %d is %q, want %q", n, got, value)
	}
}

func TestValuesAreKept(t *testing.T) {
	t.Parallel()
	c := inFolder(t)
	f := Open(c)
	want(t, f, 1, "")
	for n := range 100 {
		f.Put(key(n), fmt.Append(nil, "value ", n))
	}
	f.Put(key(3), []byte("another"))
	want(t, f, 2, "value 2")
	save(t, f)
	want(t, f, 3, "another")
	f.Put(key(101), []byte("later"))
	f.Put(key(4), []byte("replaced"))
	save(t, f)
	for _, f := range []*File{f, Open(c)} {
		want(t, f, 2, "value 2")
		want(t, f, 3, "another")
		want(t, f, 4, "replaced")
		want(t, f, 99, "value 99")
		want(t, f, 101, "later")
		want(t, f, 100, "")
	}
	info, err := os.Stat(c.Path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// Nothing is written that is there already.
	if err := os.Remove(c.Path); err != nil {
		t.Fatal(err)
	}
	save(t, f)
	if _, err := os.Stat(c.Path); err == nil {
		t.Error("it is written again although nothing was put")
	}
}

// Whatever lies there that is not what was written is as good as nothing, and is
// replaced.
func TestDamagedFilesAreReplaced(t *testing.T) {
	t.Parallel()
	c := inFolder(t)
	f := Open(c)
	f.Put(key(1), []byte("one"))
	save(t, f)
	good, err := os.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	later := bytes.Replace(good, []byte("cache 1"), []byte("cache 2"), 1)
	for name, data := range map[string][]byte{
		"empty": {}, "zeros": make([]byte, len(good)), "text": []byte("hello"), "cut": good[:len(good)-1], "longer": append(bytes.Clone(good), 0),
		"head alone": good[:header], "another version": later, "too large": make([]byte, defaultMaxBytes+1),
	} {
		if err := os.WriteFile(c.Path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f := Open(c)
		if f.content.rows() > 0 || f.Get(key(1)) != nil {
			t.Errorf("%s: it is read", name)
		}
		f.Put(key(2), []byte("two"))
		save(t, f)
		want(t, Open(c), 2, "two")
	}
	for name, make := range map[string]func() error{
		"a folder": func() error { return os.Mkdir(c.Path, 0o700) },
		"a link":   func() error { return os.Symlink("fingerprints", c.Path) },
	} {
		if err := os.Remove(c.Path); err != nil {
			t.Fatal(err)
		}
		if err := make(); err != nil {
			t.Fatal(err)
		}
		f := Open(c)
		want(t, f, 2, "")
		f.Put(key(3), []byte("three"))
		if err := f.Save(); (err == nil) != (name == "a link") {
			t.Errorf("%s: %v", name, err)
		}
		want(t, f, 3, "three")
	}
}

// Places that lie outside of the values, in a file with the right hash.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	row := func(n, end int) []byte {
		k := key(n)
		return append(k[:], 0, 0, byte(end>>8), byte(end), 0)
	}
	for name, c := range map[string]content{
		"beyond":     {table: row(0, 9), values: []byte("abc")},
		"backwards":  {table: append(row(0, 2), row(1, 1)...), values: []byte("abc")},
		"no content": {table: row(0, 1)},
	} {
		if got := c.value(c.rows() - 1); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	data := append([]byte(magic), 0xff, 0xff, 0xff, 0xff)
	if c := split(append(data, make([]byte, 32)...)); c.rows() > 0 {
		t.Errorf("%d rows", c.rows())
	}
}

// What is used stays, and what is not goes, first what was used longest ago.
func TestOldValuesAreDropped(t *testing.T) {
	t.Parallel()
	c := inFolder(t)
	f := Open(c)
	f.Put(key(1), []byte("used"))
	f.Put(key(2), []byte("unused"))
	for n := range oldest + 1 {
		f.Put(key(3), fmt.Append(nil, n))
		save(t, f)
		want(t, f, 1, "used")
		if n == oldest-2 {
			if got, _ := f.content.find(key(2)); string(f.content.value(got)) != "unused" {
				t.Errorf("it is dropped too early")
			}
		}
	}
	f = Open(c)
	want(t, f, 1, "used")
	want(t, f, 2, "")
}

func TestFileIsBounded(t *testing.T) {
	t.Parallel()
	c := inFolder(t)
	c.MaxBytes = 5000
	f := Open(c)
	value := bytes.Repeat([]byte("x"), 100)
	for n := range 20 {
		f.Put(key(n), value)
	}
	save(t, f)
	f = Open(c)
	for n := range 5 {
		if f.Get(key(n)) == nil {
			t.Fatalf("%d is not there", n)
		}
	}
	for n := 20; n < 45; n++ {
		f.Put(key(n), value)
	}
	save(t, f)
	info, err := os.Stat(c.Path)
	if err != nil || info.Size() > 5000 || info.Size() < 4500 {
		t.Fatalf("%d bytes, %v", info.Size(), err)
	}
	f = Open(c)
	for n := range 45 {
		if got := f.Get(key(n)); got == nil && (n < 5 || n >= 20) {
			t.Errorf("%d: %q", n, got)
		}
	}
	// More than fits at once.
	for n := range 200 {
		f.Put(key(n), value)
	}
	save(t, f)
	if f = Open(c); f.content.rows() < 30 {
		t.Errorf("%d of 200 are kept", f.content.rows())
	}
}

// Processes that open and save at the same time leave a file that one of them
// wrote.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	c := inFolder(t)
	var all sync.WaitGroup
	for p := range 8 {
		all.Go(func() {
			for n := range 30 {
				f := Open(c)
				for k := range 20 {
					if got := f.Get(key(k)); got != nil && !strings.HasPrefix(string(got), fmt.Sprintf("value %d ", k)) {
						t.Errorf("value %d is %q", k, got)
					}
					f.Put(key(k), fmt.Appendf(nil, "value %d of %d", k, 1000*p+n))
				}
				if err := f.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if f := Open(c); f.content.rows() != 20 {
		t.Errorf("%d values", f.content.rows())
	}
	entries, err := os.ReadDir(filepath.Dir(c.Path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// What a process has left that was killed keeps the next ones from writing for an
// hour only.
func TestStaleTemporaryFile(t *testing.T) {
	t.Parallel()
	c := inFolder(t)
	f := Open(c)
	f.Put(key(1), []byte("one"))
	save(t, f)
	temp := c.Path + ".tmp"
	if err := os.WriteFile(temp, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Put(key(2), []byte("two"))
	save(t, f)
	want(t, f, 2, "two")
	want(t, Open(c), 2, "")
	old := time.Now().Add(-2 * staleTemp)
	if err := os.Chtimes(temp, old, old); err != nil {
		t.Fatal(err)
	}
	f.Put(key(3), []byte("three"))
	save(t, f)
	want(t, Open(c), 2, "two")
	want(t, Open(c), 3, "three")
}

func TestSaveSaysWhatKeepsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pharos"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := Open(Config{Path: filepath.Join(dir, "pharos", "fingerprints")})
	f.Put(key(1), []byte("one"))
	if err := f.Save(); err == nil || !strings.Contains(err.Error(), filepath.Join("pharos", "fingerprints")) {
		t.Errorf("%v", err)
	}
	want(t, f, 1, "one")
}

// What is saved for a repository that was deleted meanwhile does not bring it back.
func TestSaveMakesNoRepository(t *testing.T) {
	t.Parallel()
	repo := filepath.Join(t.TempDir(), ".git")
	if err := os.Mkdir(repo, 0o700); err != nil {
		t.Fatal(err)
	}
	f := Open(Config{Path: filepath.Join(repo, "pharos", "fingerprints")})
	f.Put(key(1), []byte("one"))
	save(t, f)
	if err := os.RemoveAll(repo); err != nil {
		t.Fatal(err)
	}
	f.Put(key(2), []byte("two"))
	if err := f.Save(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(repo); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the repository is there again: %v", err)
	}
	want(t, f, 1, "one")
}

const shop = `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {go: {package: ./api}}
  inputs: [api, libs, go.mod, "!**/*_test.go"]
- name: web
  build: {dockerfile: {path: web/Dockerfile}}
  inputs: [web]
`

// tree puts files into a tree.
func tree(t testing.TB, files map[string]string) source.Tree {
	t.Helper()
	objects := source.NewMemory()
	return source.Tree{ID: folder(t, objects, files), Objects: objects}
}

func folder(t testing.TB, objects *source.MemoryObjects, files map[string]string) source.ID {
	t.Helper()
	below := map[string]map[string]string{}
	var entries []source.Entry
	for path, content := range files {
		name, rest, deeper := strings.Cut(path, "/")
		if !deeper {
			entries = append(entries, source.Entry{Name: name, Mode: source.ModeFile, ID: objects.PutBlob([]byte(content))})
			continue
		}
		if below[name] == nil {
			below[name] = map[string]string{}
		}
		below[name][rest] = content
	}
	for name, files := range below {
		entries = append(entries, source.Entry{Name: name, Mode: source.ModeDir, ID: folder(t, objects, files)})
	}
	id, err := objects.PutTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func shopFiles() map[string]string {
	return map[string]string{
		"pharos.yaml": shop, "go.mod": "module m\n\ngo 1.26.0\n", "api/main.go": "package main", "api/main_test.go": "", "api/in/x.go": "", "api/in/x_test.go": "",
		"libs/a/a.go": "", "libs/a/a_test.go": "", "libs/b/b.go": "", "web/Dockerfile": "FROM scratch\nCOPY web/index.html /\n", "web/index.html": "", "docs/x.md": "",
	}
}

// fingerprints are those of a tree, with the number of files.
func fingerprints(ctx context.Context, t testing.TB, tree source.Tree) string {
	t.Helper()
	c, err := catalogue.Load(ctx, tree)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(ctx, tree)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range states {
		fmt.Fprintln(&b, s.Image.Name, s.Fingerprint, s.Files, s.Inputs.ID)
	}
	return b.String()
}

// No byte of the file can be another without the file being taken for none: a
// fingerprint is the same whatever became of the file.
func TestNoByteChangesAFingerprint(t *testing.T) {
	t.Parallel()
	c := inFolder(t)
	before := tree(t, shopFiles())
	files := shopFiles()
	files["libs/b/b.go"] = "package b"
	after := tree(t, files)
	wanted := fingerprints(t.Context(), t, after)
	f := Open(c)
	fingerprints(t.Context(), t, catalogue.Cached(before, f))
	fingerprints(t.Context(), t, catalogue.Cached(after, f))
	save(t, f)
	good, err := os.ReadFile(c.Path)
	if err != nil || len(good) < 1000 {
		t.Fatal(len(good), err)
	}
	if got := fingerprints(t.Context(), t, catalogue.Cached(after, Open(c))); got != wanted {
		t.Fatalf("as written:\n%s, want\n%s", got, wanted)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= byte(1 + i%255)
		if content := parse(bad); content.rows() > 0 {
			t.Fatalf("byte %d is another, and the file is believed", i)
		}
		if i%50 > 0 {
			continue
		}
		if err := os.WriteFile(c.Path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := fingerprints(t.Context(), t, catalogue.Cached(after, Open(c))); got != wanted {
			t.Fatalf("byte %d is another:\n%s, want\n%s", i, got, wanted)
		}
	}
}

func FuzzParse(f *testing.F) {
	c := inFolder(f)
	file := Open(c)
	for n := range 3 {
		file.Put(key(n), []byte("value"))
	}
	f.Add(file.encode())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := parse(data)
		if len(data) >= leastAll {
			read = split(data)
		}
		for i := range read.rows() {
			read.value(i)
			read.find(catalogue.CacheKey(read.key(i)))
		}
		file := &File{config: Config{MaxBytes: 1 << 20}}
		file.hold(read)
		file.Put(key(1), []byte("x"))
		file.encode()
	})
}
