package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

var (
	// ErrSubmodule is returned by Export for a submodule: its content is in
	// another repository.
	ErrSubmodule = errors.New("is a submodule")
	// ErrLFS is returned by Export for a Git LFS pointer: its content is not in
	// the repository.
	ErrLFS = errors.New("is a Git LFS pointer")
	// ErrSymlink is returned by Export for a symbolic link that leads out of
	// the tree.
	ErrSymlink = errors.New("leads out of the tree")
)

// Export writes a tree's files into a folder, which must be empty or not there:
// regular files as 0644 or 0755 whatever the umask, symbolic links as links. It
// writes nothing outside of the folder. What cannot be written as it is meant is
// found before anything is written and reported together: ErrSubmodule,
// ErrSymlink; or ErrLFS, which shows only then. After an error the folder may
// hold some of the files.
func Export(ctx context.Context, tree Tree, dir string) error {
	files, dirs, err := plan(ctx, tree)
	if err != nil {
		return err
	}
	root, err := emptyRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, d := range dirs {
		if err := root.Mkdir(filepath.FromSlash(d), 0o755); err != nil {
			return err
		}
	}
	errs := make([]error, len(files))
	var g errgroup.Group
	g.SetLimit(8)
	for i, f := range files {
		g.Go(func() error {
			errs[i] = f.write(ctx, tree.Objects, root)
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(errs...)
}

func emptyRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("export into %s: it is not empty", dir)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

type exported struct {
	path string
	Entry
	target string // of a symbolic link
}

// plan lists what is to be written, and everything that cannot be.
func plan(ctx context.Context, tree Tree) (files []exported, dirs []string, err error) {
	var problems []error
	err = tree.Walk(ctx, func(p string, e Entry) error {
		switch {
		case e.Mode == ModeDir:
			dirs = append(dirs, p)
		case e.Mode == ModeSubmodule:
			problems = append(problems, fmt.Errorf("%s %w", p, ErrSubmodule))
		case e.Mode == ModeSymlink:
			target, err := readBlob(ctx, tree.Objects, e.ID, p)
			if err != nil {
				return err
			}
			if leaves(p, string(target)) {
				problems = append(problems, fmt.Errorf("%s %w: to %q", p, ErrSymlink, target))
			}
			files = append(files, exported{p, e, string(target)})
		default:
			files = append(files, exported{p, e, ""})
		}
		return nil
	})
	return files, dirs, errors.Join(err, errors.Join(problems...))
}

// leaves says whether a symbolic link leads out of the tree by its text alone.
// A link that passes through another one is caught when it is followed: nothing
// is ever written through one.
func leaves(link, target string) bool {
	if target == "" || path.IsAbs(target) || filepath.IsAbs(target) || strings.Contains(target, "\x00") {
		return true
	}
	to := path.Join(path.Dir(link), filepath.ToSlash(target))
	return to == ".." || strings.HasPrefix(to, "../")
}

func (f exported) write(ctx context.Context, objects Objects, root *os.Root) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := filepath.FromSlash(f.path)
	if f.Mode == ModeSymlink {
		return root.Symlink(f.target, name)
	}
	r, size, err := objects.Blob(ctx, f.ID)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	defer r.Close()
	content, err := refuseLFS(r, size)
	if err != nil {
		return fmt.Errorf("%s %w", f.path, err)
	}
	perm := os.FileMode(0o644)
	if f.Mode.IsExecutable() {
		perm = 0o755
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	if chmodErr := out.Chmod(perm); err == nil { // the umask may have taken some away
		err = chmodErr
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// lfsPointer begins every pointer file, see Git LFS's specification.
const lfsPointer = "version https://git-lfs.github.com/spec/v1\n"

// maxPointer is how large a pointer file may be, see there.
const maxPointer = 1024

func refuseLFS(r io.Reader, size int64) (io.Reader, error) {
	if size >= maxPointer || size < int64(len(lfsPointer)) {
		return r, nil
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte(lfsPointer)) {
		return nil, ErrLFS
	}
	return bytes.NewReader(data), nil
}
