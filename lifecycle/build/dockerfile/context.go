package dockerfile

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// contextFS shows a tree to BuildKit's client as the files of a checkout would
// be, without writing them anywhere: owned by root, as 0644 or 0755. BuildKit
// asks for the content of what it lacks.
//
// It lacks what it had never, or with another size or time: it does not compare
// contents. So the time of a file says what its content is; see timeOf.
type contextFS struct {
	ctx  context.Context // of the build: FS.Open has none
	tree source.Tree
	// epoch is what SOURCE_DATE_EPOCH is.
	epoch int64

	mu    sync.Mutex
	sizes map[source.ID]int64 // of blobs: BuildKit walks through more than once
	links map[source.ID]string
}

var _ fsutil.FS = (*contextFS)(nil)

func newContextFS(ctx context.Context, tree source.Tree, epoch int64) *contextFS {
	return &contextFS{ctx: ctx, tree: tree, epoch: epoch, sizes: map[source.ID]int64{}, links: map[source.ID]string{}}
}

// readAhead finds out the sizes of files, which takes longest of all that a walk
// asks for, while BuildKit reads the Dockerfile. The function that it returns ends
// that.
func (c *contextFS) readAhead(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The walk that BuildKit asks for meets the same error, and reports it.
		_ = c.walkDir(ctx, "", c.tree.ID, func(string, fs.DirEntry, error) error { return nil })
	}()
	return func() { cancel(); <-done }
}

// Walk calls fn for the entry at target and all below it, for all but the root
// itself if target is the root, in the order of filepath.WalkDir: not Git's, in
// which a directory's name ends with a slash.
func (c *contextFS) Walk(ctx context.Context, target string, fn fs.WalkDirFunc) error {
	name := path.Clean("/" + filepath.ToSlash(target))[1:]
	e, err := c.tree.Lookup(ctx, name)
	if errors.Is(err, source.ErrNotFound) {
		err = &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	}
	switch {
	case err != nil:
		err = fn(filepath.FromSlash(name), nil, err)
	case name == "":
		err = c.walkDir(ctx, name, e.ID, fn)
	default:
		err = c.walkEntry(ctx, name, e, fn)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) || errors.Is(err, fs.ErrNotExist) {
		return nil // as BuildKit's own file systems have it
	}
	return err
}

func (c *contextFS) walkDir(ctx context.Context, dir string, id source.ID, fn fs.WalkDirFunc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := c.tree.Objects.Tree(ctx, id)
	if err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(dir, "the root"), err)
	}
	entries = slices.SortedFunc(slices.Values(entries), func(a, b source.Entry) int { return cmp.Compare(a.Name, b.Name) })
	for _, e := range entries {
		err := c.walkEntry(ctx, path.Join(dir, e.Name), e, fn)
		if errors.Is(err, fs.SkipDir) {
			return nil // of a file: the rest of its directory
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// walkEntry returns fs.SkipDir if that was returned for a file.
func (c *contextFS) walkEntry(ctx context.Context, name string, e source.Entry, fn fs.WalkDirFunc) error {
	stat, err := c.stat(ctx, name, e)
	if err != nil {
		return err
	}
	err = fn(filepath.FromSlash(name), &fsutil.DirEntryInfo{Stat: stat}, nil)
	if e.Mode != source.ModeDir {
		return err
	}
	if errors.Is(err, fs.SkipDir) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.walkDir(ctx, name, e.ID, fn)
}

func (c *contextFS) stat(ctx context.Context, name string, e source.Entry) (*types.Stat, error) {
	stat := &types.Stat{Path: filepath.FromSlash(name)}
	switch e.Mode {
	case source.ModeDir:
		stat.Mode, stat.ModTime = uint32(os.ModeDir|0o755), timesFrom(c.epoch)
		return stat, nil
	case source.ModeSymlink:
		target, err := c.link(ctx, e.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		stat.Mode, stat.Linkname, stat.Size = uint32(os.ModeSymlink|0o777), target, int64(len(target))
	case source.ModeFile, source.ModeExecutable:
		size, err := c.size(ctx, e.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		stat.Mode, stat.Size = 0o644, size
		if e.Mode == source.ModeExecutable {
			stat.Mode = 0o755
		}
	default:
		return nil, fmt.Errorf("%s %w", name, source.ErrSubmodule)
	}
	var err error
	if stat.ModTime, err = timeOf(e.ID, c.epoch); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return stat, nil
}

const (
	// earliest is 2 January 1980 UTC, in seconds since 1970: some tools refuse
	// files from before 1980, which zip archives cannot hold.
	earliest = 315619200
	// span is how far apart the times of files may lie, in nanoseconds: a day.
	span = uint64(24 * time.Hour)
)

// timesFrom is when the times of files begin, in nanoseconds since 1970. The
// exporter sets times after the epoch to it, and leaves those before: so they are
// all after it. They are in the past as well, unless the epoch is of today:
// configure scripts refuse files from the future.
func timesFrom(epoch int64) int64 { return max(epoch, earliest) * int64(time.Second) }

// timeOf makes a time of a content's ID: another content has another time, but
// for once in 10^13 times. In the image all times are the epoch.
func timeOf(id source.ID, epoch int64) (int64, error) {
	if len(id) < 16 {
		return 0, fmt.Errorf("%q is no ID of an object", id)
	}
	var n uint64
	raw, err := hex.DecodeString(string(id[:16]))
	if err != nil {
		return 0, fmt.Errorf("%q is no ID of an object", id)
	}
	for _, b := range raw {
		n = n<<8 | uint64(b)
	}
	return timesFrom(epoch) + int64(n%span), nil
}

func (c *contextFS) size(ctx context.Context, id source.ID) (int64, error) {
	c.mu.Lock()
	size, ok := c.sizes[id]
	c.mu.Unlock()
	if ok {
		return size, nil
	}
	size, err := source.BlobSize(ctx, c.tree.Objects, id)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	c.sizes[id] = size
	c.mu.Unlock()
	return size, nil
}

func (c *contextFS) link(ctx context.Context, id source.ID) (string, error) {
	c.mu.Lock()
	target, ok := c.links[id]
	c.mu.Unlock()
	if ok {
		return target, nil
	}
	target, err := source.ReadLink(ctx, c.tree.Objects, id)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.links[id] = target
	c.mu.Unlock()
	return target, nil
}

// Open opens the file at a path. It never fails: BuildKit's client sends a file
// that cannot be opened as an empty one. Reading fails instead, and ends the
// build.
func (c *contextFS) Open(name string) (io.ReadCloser, error) {
	name = path.Clean("/" + filepath.ToSlash(name))[1:]
	e, err := c.tree.Lookup(c.ctx, name)
	if err != nil {
		return failing{err}, nil
	}
	if !e.Mode.IsFile() {
		return failing{fmt.Errorf("%s is no file", name)}, nil
	}
	r, size, err := c.tree.Objects.Blob(c.ctx, e.ID)
	if err != nil {
		return failing{fmt.Errorf("%s: %w", name, err)}, nil
	}
	return &whole{ReadCloser: r, name: name, left: size}, nil
}

// failing is a file that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
func (f failing) Close() error             { return nil }

// whole is a file that has as many bytes as it was said to have.
type whole struct {
	io.ReadCloser
	name string
	left int64
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.left -= int64(n)
	if errors.Is(err, io.EOF) && w.left != 0 || w.left < 0 {
		err = fmt.Errorf("%s: %w: its size is not the one that it was said to have", w.name, source.ErrCorrupt)
	}
	return n, err
}
