package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
)

var (
	// ErrSubmodule is returned by Export for a submodule: its content is in
	// another repository.
	ErrSubmodule = errors.New("is a submodule, whose files are in another repository")
	// ErrLFS is returned by Export and RefuseLFS for a Git LFS pointer: its content is not in
	// the repository.
	ErrLFS = errors.New("is a Git LFS pointer, whose content is not in the repository")
	// ErrSymlink is returned by Export for a symbolic link that leads out of
	// the tree, by itself or through other links.
	ErrSymlink = errors.New("is a symbolic link out of the tree")
	// ErrNotEmpty is returned by Export for a folder that holds something.
	ErrNotEmpty = errors.New("the folder is not empty")
)

// writers is how many files Export writes at once.
const writers = 8

// Export writes a tree's files into a folder, which must be empty or not there
// yet: regular files as 0644 or 0755 whatever the umask, symbolic links as
// links, directories as 0755. It writes nothing outside of the folder and
// nothing through a symbolic link.
//
// Whatever cannot be written as it is meant is reported together, each by its
// path: ErrSubmodule, ErrSymlink with the target, ErrLFS. Other errors:
// ErrNotEmpty; ErrTooLarge for a tree of more than two million entries; those of
// the tree's objects and the folder. After an error the folder may hold some of
// the files.
func Export(ctx context.Context, tree Tree, dir string) error {
	p, err := planExport(ctx, tree)
	if err != nil {
		return err
	}
	var root *os.Root // nil: only look for the further problems
	if len(p.problems) == 0 {
		if root, err = emptyRoot(dir); err != nil {
			return err
		}
		defer root.Close()
		if err := p.makeDirs(root); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var lfs []error
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, files := range p.byFolder() {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			refused, err := writeFiles(gctx, tree.Objects, root, files)
			mu.Lock()
			defer mu.Unlock()
			lfs = append(lfs, refused...)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return joinSorted(append(p.problems, lfs...))
}

func emptyRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	err = checkEmpty(root)
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("export into %s: %w", dir, err)
	}
	return root, nil
}

func checkEmpty(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.Readdirnames(1); err != io.EOF {
		return errors.Join(ErrNotEmpty, err)
	}
	return nil
}

// writeFiles writes files of one folder, and returns the errors of those that
// are Git LFS pointers. Without a root it only looks for these. The folder is
// opened once: opening each path from the root takes longer than all the rest.
func writeFiles(ctx context.Context, objects Objects, root *os.Root, files []exported) (lfs []error, err error) {
	if root != nil {
		if root, err = openFolder(root, path.Dir(files[0].path)); err != nil {
			return nil, err
		}
		defer root.Close()
	}
	for _, f := range files {
		err := f.write(ctx, objects, root)
		if errors.Is(err, ErrLFS) {
			lfs = append(lfs, err)
			continue
		}
		if err != nil {
			return lfs, err
		}
	}
	return lfs, nil
}

// openFolder opens a folder by its slash-separated path.
func openFolder(root *os.Root, dir string) (*os.Root, error) {
	name, err := filepath.Localize(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return root.OpenRoot(name)
}

// makeDirs makes the folders, each from the one that it lies in. Those come
// before what they hold, so that the ones above the last are all that are open.
func (p *exportPlan) makeDirs(root *os.Root) error {
	type folder struct {
		path string
		root *os.Root
	}
	above := []folder{{".", root}}
	leave := func() {
		above[len(above)-1].root.Close()
		above = above[:len(above)-1]
	}
	defer func() {
		for len(above) > 1 {
			leave()
		}
	}()
	for _, d := range p.dirs {
		parent, base := path.Dir(d), path.Base(d)
		for above[len(above)-1].path != parent {
			leave()
		}
		name, err := filepath.Localize(base)
		if err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
		in := above[len(above)-1].root
		if err := in.Mkdir(name, 0o755); err != nil {
			return err
		}
		made, err := in.OpenRoot(name)
		if err != nil {
			return err
		}
		above = append(above, folder{d, made})
		if err := made.Chmod(".", 0o755); err != nil { // the umask may have taken some away
			return err
		}
	}
	return nil
}

// write writes a file into the root of its folder; without one it only looks
// whether it could.
func (f exported) write(ctx context.Context, objects Objects, root *os.Root) error {
	if f.mode == ModeSymlink && root == nil {
		return nil
	}
	name, err := filepath.Localize(path.Base(f.path))
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if f.mode == ModeSymlink {
		return root.Symlink(filepath.FromSlash(f.target), name)
	}
	r, size, err := objects.Blob(ctx, f.id)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	defer r.Close()
	content, err := RefuseLFS(r, size)
	if err != nil {
		return fmt.Errorf("%s %w", f.path, err)
	}
	if root == nil {
		return nil
	}
	perm := os.FileMode(0o644)
	if f.mode == ModeExecutable {
		perm = 0o755
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	n, err := copyContent(ctx, out, content)
	if err == nil && n != size {
		err = fmt.Errorf("%w: it has %d bytes and was said to have %d", ErrCorrupt, n, size)
	}
	if err == nil {
		err = out.Chmod(perm) // the umask may have taken some away
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// copyContent writes content that is in memory as it is: a buffer for each file
// takes longer than the file.
func copyContent(ctx context.Context, out io.Writer, content io.Reader) (int64, error) {
	if w, ok := content.(io.WriterTo); ok {
		return w.WriteTo(out)
	}
	return io.Copy(out, readerContext{ctx, content})
}

// readerContext ends the copy of a large file with the context.
type readerContext struct {
	ctx context.Context
	r   io.Reader
}

func (r readerContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
