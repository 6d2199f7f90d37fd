package golang

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
)

// programFolder is where the program stands in the image.
const programFolder = "/app"

// modes let everybody read and run, and nobody write.
var modes = layer.Modes{Dir: 0o555, File: 0o444, Executable: 0o555}

// programLayer packs a program at /app/<name>.
func (b *build) programLayer(program, name, file string, mediaType types.MediaType) (*layer.Layer, error) {
	return layer.Gzipped(b.folder.Path("out", file+".tar.gz"), mediaType, modes, func(to *layer.Archive) error {
		return addFile(to, program, path.Join(programFolder, name)[1:], true)
	})
}

// assetsLayer packs the recipe's assets, under /app by their paths in the tree.
// It is nil without assets, and of no particular media type.
func (b *build) assetsLayer() (*layer.Layer, error) {
	if len(b.recipe.Assets) == 0 {
		return nil, nil
	}
	return layer.Gzipped(b.folder.Path("out", "assets.tar.gz"), "", modes, func(to *layer.Archive) error {
		for _, asset := range b.recipe.Assets {
			if err := b.addAsset(to, cleanPath(asset)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *build) addAsset(to *layer.Archive, asset string) error {
	return filepath.WalkDir(b.disk(asset), func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(b.folder.Path("src"), file)
		if err != nil {
			return err
		}
		name := path.Join(programFolder, filepath.ToSlash(rel))[1:]
		switch {
		case e.IsDir():
			return to.Dir(name)
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			if err != nil {
				return err
			}
			return to.Symlink(name, filepath.ToSlash(target))
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return addFile(to, file, name, info.Mode()&0o111 != 0)
	})
}

func addFile(to *layer.Archive, file, name string, executable bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return to.File(name, executable, info.Size(), f)
}
