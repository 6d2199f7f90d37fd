package layer

import (
	"archive/tar"
	"fmt"
	"io"
	"path"
	"slices"
	"time"
)

// Modes are the permissions of what an archive holds.
type Modes struct{ Dir, File, Executable int64 }

// Whiteout begins the names of files that stand for a deletion in the layer of an
// image (https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md#whiteouts).
const Whiteout = ".wh."

// Archive is the archive that becomes a layer. Names are slash-separated and
// relative to the root of the image. What has been added is not added again, and
// folders come before what they hold.
type Archive struct {
	to    *tar.Writer
	modes Modes
	has   map[string]bool
}

// Dir adds a folder; "." and "" are the root, which needs none.
func (a *Archive) Dir(name string) error {
	var missing []string
	for dir := path.Clean(name); dir != "." && !a.has[dir]; dir = path.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		a.has[dir] = true
		if err := a.to.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: a.modes.Dir, ModTime: noTime}); err != nil {
			return err
		}
	}
	return nil
}

// File adds a file of that size in bytes.
func (a *Archive) File(name string, executable bool, size int64, content io.Reader) error {
	mode := a.modes.File
	if executable {
		mode = a.modes.Executable
	}
	added, err := a.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: mode})
	if err != nil || !added {
		return err
	}
	n, err := io.Copy(a.to, content)
	if err == nil && n != size {
		err = fmt.Errorf("it has %d bytes and was said to have %d", n, size)
	}
	return err
}

// Symlink adds a symbolic link.
func (a *Archive) Symlink(name, target string) error {
	_, err := a.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
	return err
}

// noTime is the time of everything.
var noTime = time.Unix(0, 0)

func (a *Archive) add(h *tar.Header) (added bool, err error) {
	if a.has[h.Name] {
		return false, nil
	}
	if err := a.Dir(path.Dir(h.Name)); err != nil {
		return false, err
	}
	a.has[h.Name] = true
	h.ModTime = noTime
	return true, a.to.WriteHeader(h)
}
