package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// scratch is a folder of one call, so that whatever git programs of a killed one
// still do, they do it elsewhere.
type scratch struct {
	dir   string
	began time.Time // by the file system's clock
	// died says that an earlier call was killed.
	died bool
}

func (p private) scratch() (*scratch, error) {
	if err := p.make(); err != nil {
		return nil, err
	}
	old, err := filepath.Glob(filepath.Join(glob(p.dir), scratchPrefix+"*"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.dir, scratchPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: dir}
	info, err := os.Stat(dir)
	if err != nil {
		s.remove()
		return nil, err
	}
	s.began = info.ModTime()
	for _, o := range old {
		if info, err := os.Stat(o); err == nil && s.began.Sub(info.ModTime()) > kept {
			_ = os.RemoveAll(o) // the next call tries again
			s.died = true
		}
	}
	return s, nil
}

func (s *scratch) path(name string) string { return filepath.Join(s.dir, name) }

// remove leaves what cannot be removed to a later call.
func (s *scratch) remove() { _ = os.RemoveAll(s.dir) }

// quarantine makes the object folder that git writes new objects to: what it
// leaves there when it is interrupted goes with the rest of the call.
func (s *scratch) quarantine(store *store) (objects string, err error) {
	objects = s.path("objects")
	// The repository first, so that its own alternates are no deeper than git
	// follows them.
	return objects, writeAlternates(objects, filepath.Join(store.common, "objects"), store.objects())
}

// release moves what git has written to the store: packs before their indexes,
// by which git finds them.
func (s *scratch) release(store *store) error {
	files, err := filepath.Glob(filepath.Join(glob(s.path("objects")), "*", "*"))
	if err != nil {
		return err
	}
	for _, last := range []bool{false, true} {
		for _, f := range files {
			dir, name := filepath.Base(filepath.Dir(f)), filepath.Base(f)
			if dir == "info" || strings.HasPrefix(dir, "tmp_") || strings.HasPrefix(name, "tmp_") || (filepath.Ext(name) == ".idx") != last {
				continue
			}
			if err := moveTo(filepath.Join(store.objects(), dir), f); err != nil {
				return err
			}
		}
	}
	return nil
}

func moveTo(dir, file string) error {
	to := filepath.Join(dir, filepath.Base(file))
	if info, err := os.Stat(to); err == nil && info.Size() > 0 {
		return nil // another call was faster: objects and packs have the names of their content
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Rename(file, to)
}
