package golang

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// assetsLayer packs the recipe's assets, under /app by their paths in the tree.
// It is nil without assets, and of no particular media type.
func (b *build) assetsLayer() (*layer, error) {
	if len(b.recipe.Assets) == 0 {
		return nil, nil
	}
	return newLayer(filepath.Join(b.folder.out(), "assets.tar.gz"), "", func(w *tar.Writer) error {
		a := assets{build: b, to: w, made: map[string]bool{}}
		for _, asset := range b.recipe.Assets {
			if err := a.add(cleanPath(asset)); err != nil {
				return err
			}
		}
		return nil
	})
}

type assets struct {
	*build
	to *tar.Writer
	// made are the folders and files that the archive has already.
	made map[string]bool
}

func (a *assets) add(asset string) error {
	return filepath.WalkDir(a.disk(asset), func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(a.folder.src(), file)
		if err != nil {
			return err
		}
		name := path.Join(programFolder, filepath.ToSlash(rel))[1:]
		if err := a.parents(name); err != nil || a.made[name] {
			return err
		}
		a.made[name] = true
		return a.write(file, name, e)
	})
}

func (a *assets) parents(name string) error {
	var missing []string
	for dir := path.Dir(name); dir != "." && !a.made[dir]; dir = path.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		a.made[dir] = true
		if err := a.to.WriteHeader(header(tar.TypeDir, dir+"/", 0)); err != nil {
			return err
		}
	}
	return nil
}

func (a *assets) write(file, name string, e fs.DirEntry) error {
	switch {
	case e.IsDir():
		return a.to.WriteHeader(header(tar.TypeDir, name+"/", 0))
	case e.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(file)
		if err != nil {
			return err
		}
		h := header(tar.TypeSymlink, name, 0)
		h.Linkname = filepath.ToSlash(target)
		return a.to.WriteHeader(h)
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	h := header(tar.TypeReg, name, info.Size())
	if info.Mode()&0o111 == 0 {
		h.Mode = 0o444
	}
	if err := a.to.WriteHeader(h); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(a.to, f)
	return err
}
