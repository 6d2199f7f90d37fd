package detect_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

func addFiles(t *testing.T, root *os.Root, dir string, files map[string]source.File) {
	t.Helper()
	err := fs.WalkDir(root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Type().IsRegular() {
			addFile(t, root, name, files)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func addFile(t *testing.T, root *os.Root, name string, files map[string]source.File) {
	t.Helper()
	data, err := root.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	files[name] = source.File{Content: string(data)}
}
