package worktree

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// private is a folder in the checkout's own Git folder. In it are
//
//	index-<hex>-<hex>  a copy of the user's index, named after what it is a copy
//	                   of, and after the attributes when it was refreshed
//	store-<n>          objects and what is known of files; the highest is in use
//	tmp-*              what calls that are under way write, and killed ones have left
//
// Whole files appear there by renaming and are never written to again, so that
// calls need no lock: what one of them removes under another is made anew.
type private struct {
	dir    string
	common string // the Git folder with the repository's objects
}

const (
	indexPrefix   = "index-"
	scratchPrefix = "tmp-"
	// kept is how long what may be in use by another call, or by the reader of
	// a tree, is kept.
	kept = 24 * time.Hour
)

func newPrivate(gitDir, common string) private {
	return private{dir: filepath.Join(gitDir, "pharos", "worktree"), common: common}
}

// make makes the folder, and not the Git folder: one that was deleted meanwhile stays so.
func (p private) make() error {
	for _, dir := range []string{filepath.Dir(p.dir), p.dir} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// glob quotes a path for filepath.Glob.
func glob(path string) string {
	if filepath.Separator == '\\' {
		return path // it has no quoting there, nor can * and ? be in a path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// index is a call's copy of the user's index.
type index struct {
	path string
	name string // of private copies of it but for what was seen, "" if the user has no index
	seen string // when the private copy was made that it was taken from
	kept bool   // it was taken from one
}

// index copies the user's index, or rather, unless it is to be anew, takes the
// copy that there is of it: git has refreshed that one, under the same
// configuration, and needs to look into no file a second time.
func (p private) index(gitDir string, work *scratch, under string, anew bool) (*index, error) {
	i := &index{path: work.path("index")}
	if err := os.RemoveAll(i.path); err != nil {
		return nil, err
	}
	user, err := os.Open(filepath.Join(gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}
	if err != nil {
		return nil, err
	}
	defer user.Close()
	info, err := user.Stat()
	if err != nil {
		return nil, err
	}
	name, err := indexName(user, info, under)
	if err != nil {
		return nil, err
	}
	i.name = filepath.Join(p.dir, indexPrefix+name+"-")
	old, err := filepath.Glob(filepath.Join(glob(p.dir), indexPrefix+"*"))
	if err != nil {
		return nil, err
	}
	for _, o := range old {
		if seen, is := strings.CutPrefix(o, i.name); is && !anew && clone(o, i.path) == nil {
			i.seen, i.kept = seen, true
			return i, nil
		}
	}
	if err := copyTo(user, info, i.path); err != nil {
		return nil, err
	}
	for _, o := range old {
		_ = os.Remove(o) // the next copy is made in any case
	}
	return i, nil
}

// keep makes the call's copy the one that the next call takes. A link serves: git
// never writes into an index, it replaces it.
func (i *index) keep(seen string) error {
	if i.name == "" {
		return nil
	}
	now, err := os.Stat(i.path)
	if err != nil {
		return err
	}
	to := i.name + seen
	if before, err := os.Stat(to); err == nil && os.SameFile(before, now) {
		return nil
	}
	next := i.path + ".keep"
	if err := clone(i.path, next); err != nil {
		return err
	}
	if err := os.Chmod(next, 0o600); err != nil { // git goes by the umask
		return err
	}
	return os.Rename(next, to)
}

// indexName tells one state of an index, under a configuration, from any other:
// by the checksum at its end, and by what its file is. An index may go without a
// checksum (index.skipHash).
func indexName(f *os.File, info fs.FileInfo, under string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, under, fileKey(info))
	end := make([]byte, min(sha256.Size, info.Size()))
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil {
		return "", err
	}
	h.Write(end)
	if bytes.HasSuffix(end, make([]byte, 20)) { // the length of SHA-1
		if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// clone makes a second name for a file or, where the file system has no links, a
// copy.
func clone(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return copyTo(f, info, to)
}

// copyTo keeps the time of an index: git looks into files that were changed after
// it, because it cannot have seen the last of their changes.
func copyTo(from io.Reader, info fs.FileInfo, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// sorted returns the names in a folder that begin with a prefix, without it.
func sorted(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if rest, is := strings.CutPrefix(e.Name(), prefix); is {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names, nil
}
