package golang

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folderPrefix begins the name of every private folder.
const folderPrefix = "pharos-go-"

// folder is the private folder of one build. Its lock says that its build is
// alive; the system lets go of it however the process ends.
type folder struct {
	path   string
	unlock func() error
}

// newFolder makes a private folder with the places in it that a build needs.
func (b *Builder) newFolder() (*folder, error) {
	for {
		dir, err := os.MkdirTemp(b.tempDir, folderPrefix)
		if err != nil {
			return nil, fmt.Errorf("make a private folder: %w", err)
		}
		unlock, err := lockFolder(dir)
		if errors.Is(err, errLocked) {
			// Another build's sweep found it before it was locked, and removes it.
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock the private folder: %w", err), os.RemoveAll(dir))
		}
		f := &folder{path: dir, unlock: unlock}
		// The Go command prints paths without symbolic links.
		if f.path, err = filepath.EvalSymlinks(dir); err != nil {
			f.path = dir
			return nil, errors.Join(err, f.remove())
		}
		for _, sub := range []string{f.src(), f.tmp(), f.out()} {
			if err := os.Mkdir(sub, 0o700); err != nil {
				return nil, errors.Join(err, f.remove())
			}
		}
		return f, nil
	}
}

func (f *folder) src() string { return filepath.Join(f.path, "src") }
func (f *folder) tmp() string { return filepath.Join(f.path, "tmp") }
func (f *folder) out() string { return filepath.Join(f.path, "out") }

// remove removes the folder. Killed compilers may take a moment to be gone,
// and write until then.
func (f *folder) remove() error {
	const tries = 50
	var err error
	for range tries {
		if err = os.RemoveAll(f.path); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.Join(err, f.unlock())
}

// sweep removes the folders of builds whose process was killed. What cannot be
// removed is left: it may belong to somebody else.
func (b *Builder) sweep() {
	entries, err := os.ReadDir(b.tempDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), folderPrefix) {
			continue
		}
		dir := filepath.Join(b.tempDir, e.Name())
		unlock, err := lockFolder(dir)
		if err != nil {
			continue
		}
		err = errors.Join(os.RemoveAll(dir), unlock())
		b.log.Debug("removed what a killed build left", "folder", dir, "error", err)
	}
}
