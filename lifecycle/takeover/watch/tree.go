package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
)

const (
	// maxPaths is how many paths a Change has.
	maxPaths = 100
	// maxContent is up to what size a file's content counts; of a larger one its size
	// and time do.
	maxContent = 64 << 20
	// coarse is how long a file may go on changing without another time.
	coarse = 2 * time.Second
)

// foldsCase says that a file is mostly found under names, too, that differ in case.
const foldsCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

type hash [sha256.Size]byte

// file is what is known of one that counts.
type file struct {
	info fs.FileInfo
	read time.Time // when it was read
	hash hash      // of its path, mode and content
	scan int       // the last scan that has found it
}

// tree is what has been seen of the files that count, and of the folders that may
// hold some.
type tree struct {
	config  Config
	ignored *ignored
	// watch is called with each folder before it is read, so that what happens
	// from then on is an event. It may be nil.
	watch func(dir string) error

	files   map[string]file
	dirs    map[string]int // the last scan that has found the folder
	scans   int
	count   int  // the files that the last scan has found
	sum     hash // the exclusive or of all hashes, which does not depend on their order
	changed map[string]struct{}

	rules map[string]fs.FileInfo // every .gitignore
	stale bool                   // one has changed
	ask   bool                   // Git is asked about what is known, too
}

func newTree(c Config, ignored *ignored) *tree {
	return &tree{config: c, ignored: ignored, files: map[string]file{}, dirs: map[string]int{}, changed: map[string]struct{}{}, rules: map[string]fs.FileInfo{}}
}

// refresh looks at everything, and asks Git anew about all of it.
func (t *tree) refresh() error {
	if err := t.ignored.renew(); err != nil {
		return err
	}
	clear(t.rules)
	t.ask = true
	err := t.scan()
	t.ask = false
	t.stale = false // every .gitignore was new, and git read it afterwards
	return err
}

// report returns the State and what has changed since the last report.
func (t *tree) report() (s State, paths []string, others int) {
	paths = slices.Sorted(maps.Keys(t.changed))
	clear(t.changed)
	if others = max(0, len(paths)-maxPaths); others > 0 {
		paths = slices.Clone(paths[:maxPaths])
	}
	return State(hex.EncodeToString(t.sum[:])), paths, others
}

// scan looks at everything. What has the size and the times of before is not read
// again.
func (t *tree) scan() error {
	info, err := os.Lstat(t.config.Root)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("watch %s: %w", t.config.Root, errors.New("it is not a folder"))
	}
	t.scans++
	t.count = 0
	if err := t.folder("."); err != nil {
		return err
	}
	for name := range t.rules {
		if _, ok := t.dirs[path.Dir(name)]; !ok {
			delete(t.rules, name)
		}
	}
	for name, f := range t.files {
		if f.scan != t.scans {
			t.forget(name)
		}
	}
	maps.DeleteFunc(t.dirs, func(_ string, scan int) bool { return scan != t.scans })
	return nil
}

// folder looks at a folder that may hold files that count, and at all below it.
func (t *tree) folder(dir string) error {
	place := t.place(dir)
	if t.watch != nil {
		if err := t.watch(place); err != nil {
			if passing(err) {
				return nil
			}
			return err
		}
	}
	// It is known from here on, so that an event says when its name is that of another.
	t.dirs[dir] = t.scans
	entries, err := os.ReadDir(place)
	if err != nil && (dir == "." || !passing(err)) {
		return fmt.Errorf("watch: %w", err)
	}
	if errors.Is(err, fs.ErrPermission) {
		delete(t.dirs, dir) // an event says when it may be read
	}
	var names []string
	folders := map[string]bool{}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.Name() == ".gitignore" {
			t.rule(name)
		}
		if t.matters(name, e.IsDir()) {
			names = append(names, name)
			folders[name] = e.IsDir()
		}
	}
	if names, err = t.ignored.remove(names, t.known); err != nil {
		return err
	}
	for _, name := range names {
		if folders[name] {
			err = t.folder(name)
		} else {
			err = t.file(name, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// look looks at what may be a file or a folder that there was an event of.
func (t *tree) look(name string) error {
	if path.Base(name) == ".gitignore" {
		t.stale = true
	}
	info, err := os.Lstat(t.place(name))
	if err == nil && foldsCase && !listed(t.place(name)) {
		err = fs.ErrNotExist // it was renamed to what differs in case alone
	}
	if err != nil {
		if passing(err) {
			t.forget(name)
			return nil
		}
		return fmt.Errorf("watch: %w", err)
	}
	_, known := t.dirs[name]
	switch {
	case !t.matters(name, info.IsDir()):
		return nil
	case info.IsDir() && known:
		return nil // what happens inside has events of its own
	}
	if names, err := t.ignored.remove([]string{name}, t.known); err != nil || len(names) == 0 {
		return err
	}
	if info.IsDir() {
		t.forget(name)
		return t.folder(name)
	}
	return t.file(name, true)
}

// rule notes a .gitignore as it is.
func (t *tree) rule(name string) {
	info, err := os.Lstat(t.place(name))
	if err != nil {
		t.stale = true
		return
	}
	if old := t.rules[name]; old == nil || old.Size() != info.Size() || !old.ModTime().Equal(info.ModTime()) || !os.SameFile(old, info) {
		t.stale = true
	}
	t.rules[name] = info
}

// matters says whether something may count, as far as its path says.
func (t *tree) matters(name string, dir bool) bool {
	if path.Base(name) == ".git" {
		return false
	}
	if dir {
		return t.config.Files.Dir(name) != catalogue.NoneInside
	}
	return t.config.Files.Match(name)
}

// known says that a file counted already, and is not ignored therefore.
func (t *tree) known(name string) bool {
	if t.ask {
		return false
	}
	if _, ok := t.files[name]; ok {
		return true
	}
	_, ok := t.dirs[name]
	return ok
}

// file looks at a file that counts. It is read if there was an event of it, or if it
// may have changed.
func (t *tree) file(name string, event bool) error {
	place := t.place(name)
	info, err := os.Lstat(place)
	if err != nil && !passing(err) {
		return fmt.Errorf("watch: %w", err)
	}
	if err != nil || !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink {
		t.forget(name)
		return nil
	}
	old, known := t.files[name]
	if !known || old.scan != t.scans {
		t.count++ // what was there once, and is not any more, is not forgotten yet
	}
	if known && !event && old.same(info) {
		old.scan = t.scans
		t.files[name] = old
		return nil
	}
	if !known && t.count > t.config.Most {
		return fmt.Errorf("%w: the patterns choose more than %d files below %s; exclude what is no source", ErrTooMany, t.config.Most, t.config.Root)
	}
	now := time.Now()
	f := file{info: info, read: now, hash: hashOf(name, place, info), scan: t.scans}
	if f.hash != old.hash {
		t.changed[name] = struct{}{}
		t.sum = t.sum.xor(old.hash).xor(f.hash)
	}
	t.files[name] = f
	return nil
}

func (t *tree) forget(name string) {
	if f, ok := t.files[name]; ok {
		t.changed[name] = struct{}{}
		t.sum = t.sum.xor(f.hash)
		delete(t.files, name)
		if f.scan == t.scans {
			t.count--
		}
	}
}

// listed says whether a folder lists a name as it is spelt.
func listed(place string) bool {
	entries, err := os.ReadDir(filepath.Dir(place))
	return err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(place) })
}

func (t *tree) place(name string) string {
	return filepath.Join(t.config.Root, filepath.FromSlash(name))
}

// same says whether a file is certainly as it was read. What was written shortly
// before may have been written again since, at a time that is noted as the same one.
func (f file) same(info fs.FileInfo) bool {
	return f.info.Size() == info.Size() && f.info.Mode() == info.Mode() && f.info.ModTime().Equal(info.ModTime()) &&
		os.SameFile(f.info, info) && f.read.Sub(info.ModTime()) > coarse
}

// hashOf is that of a file's path, kind and content.
func hashOf(name, place string, info fs.FileInfo) (sum hash) {
	h := sha256.New()
	kind := "file"
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		kind = "link"
	case info.Mode()&0o100 != 0:
		kind = "program"
	}
	fmt.Fprintf(h, "%s %q\n", kind, name)
	if err := content(h, place, info); err != nil {
		fmt.Fprint(h, "it cannot be read")
	}
	h.Sum(sum[:0])
	return sum
}

func content(w io.Writer, place string, info fs.FileInfo) error {
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := os.Readlink(place)
		_, _ = io.WriteString(w, target)
		return err
	}
	if info.Size() > maxContent {
		fmt.Fprintf(w, "%d bytes of %s", info.Size(), info.ModTime())
		return nil
	}
	f, err := openFile(place)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, io.LimitReader(f, maxContent))
	return err
}

func (h hash) xor(other hash) hash {
	for i := range h {
		h[i] ^= other[i]
	}
	return h
}

// passing says that something is not there, or not for us: it is gone meanwhile, or
// cannot be read, which is for the user to change.
func passing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || gone(err)
}
