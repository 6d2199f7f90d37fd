package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// writeFile writes a file that is there entirely or not at all, readable by its owner only.
func (f *Folder) writeFile(content []byte, elements ...string) error {
	path := f.Path(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// readOrMake returns a file's content, which it makes and writes the first time.
func (f *Folder) readOrMake(make func() ([]byte, error), elements ...string) ([]byte, error) {
	b, err := os.ReadFile(f.Path(elements...))
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if b, err = make(); err != nil {
		return nil, err
	}
	return b, f.writeFile(b, elements...)
}
