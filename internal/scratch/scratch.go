package scratch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Place is where folders are made. It is safe for concurrent use, by several
// processes too.
type Place struct {
	// Dir is the folder that they are made in. It must exist.
	Dir string
	// Prefix begins their names, such as "pharos-go-". Folders in Dir that are
	// named by it and a number are removed.
	Prefix string
	// Log receives, at level debug, what was removed. The default discards it.
	Log *slog.Logger
}

// Folder is a private folder, which only this user can look into.
type Folder struct {
	path   string
	unlock func() error
}

// Make removes the folders of processes that were killed, and makes a new one
// with these folders in it.
func (p Place) Make(inside ...string) (*Folder, error) {
	p.sweep()
	for {
		dir, err := os.MkdirTemp(p.Dir, p.Prefix)
		if err != nil {
			return nil, fmt.Errorf("make a private folder: %w", err)
		}
		unlock, err := lock(dir)
		if errors.Is(err, errLocked) {
			// Another one's sweep found it before it was locked, and removes it.
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock the private folder: %w", err), os.RemoveAll(dir))
		}
		f := &Folder{path: dir, unlock: unlock}
		// Tools print paths without symbolic links.
		if f.path, err = filepath.EvalSymlinks(dir); err != nil {
			f.path = dir
			return nil, errors.Join(err, f.Remove())
		}
		for _, name := range inside {
			if err := os.Mkdir(f.Path(name), 0o700); err != nil {
				return nil, errors.Join(err, f.Remove())
			}
		}
		return f, nil
	}
}

// Path is the path of something in the folder, of the folder itself without
// names. It has no symbolic links.
func (f *Folder) Path(names ...string) string {
	return filepath.Join(append([]string{f.path}, names...)...)
}

// Remove removes the folder and all in it. Killed processes may take a moment to
// be gone, and write until then.
func (f *Folder) Remove() error {
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

// made says whether a folder of that name may be of Make: os.MkdirTemp puts a number
// of 32 bits behind the prefix. Others have folders of their own, such as pharos-go-mod.
func (p Place) made(name string) bool {
	number, ok := strings.CutPrefix(name, p.Prefix)
	n, err := strconv.ParseUint(number, 10, 32)
	return ok && err == nil && strconv.FormatUint(n, 10) == number
}

// sweep removes the folders of processes that were killed. What cannot be
// removed is left: it may belong to somebody else.
func (p Place) sweep() {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !p.made(e.Name()) {
			continue
		}
		dir := filepath.Join(p.Dir, e.Name())
		unlock, err := lock(dir)
		if err != nil {
			continue
		}
		err = errors.Join(os.RemoveAll(dir), unlock())
		if p.Log != nil {
			p.Log.LogAttrs(context.Background(), slog.LevelDebug, "removed what a killed process left", slog.String("folder", dir), slog.Any("error", err))
		}
	}
}
