package render

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/lifecycle"
)

// disk keeps each rendering in a file of its own:
//
//	pharos rendering 1\n
//	SHA-256 of the rest, 32 bytes
//	the trace and the rendering, each as encoding/gob writes it
//
// Its name is the first half of the request's key, ".", and the first digits of
// that hash. Files are replaced as a whole and never changed, so processes need
// no lock: at worst one removes what another is about to read.
type disk struct {
	dir        string
	maxBytes   int64
	maxEntries int
	log        *slog.Logger
}

const magic = "pharos rendering 1\n"

// staleTemp is after how long a temporary file was left by a process that was
// killed.
const staleTemp = time.Hour

func prefixOf(key requestKey) string { return string(key[:32]) + "." }

// find reads the renderings of a key, those that were used last first.
func (d *disk) find(ctx context.Context, key requestKey, t source.Tree) (trace, lifecycle.Rendering, bool) {
	files, err := d.files()
	if err != nil {
		d.log.Debug("renderings that were kept cannot be listed", "folder", d.dir, "err", err)
	}
	for _, f := range slices.Backward(files) {
		if !strings.HasPrefix(f.Name(), prefixOf(key)) {
			continue
		}
		name := filepath.Join(d.dir, f.Name())
		tr, rendering, err := d.read(ctx, name, t)
		switch {
		case err == nil:
			now := time.Now()
			_ = os.Chtimes(name, now, now) // it only stays longer for that
			return tr, rendering, true
		case errors.Is(err, errDamaged):
			d.log.Debug("a rendering that was kept is damaged, and is removed", "file", name, "err", err)
			_ = os.Remove(name)
		}
	}
	return nil, lifecycle.Rendering{}, false
}

var (
	errDamaged   = errors.New("not what was written")
	errOtherTree = errors.New("of another tree")
)

// read returns the rendering in a file, if the tree would give it.
func (d *disk) read(ctx context.Context, name string, t source.Tree) (trace, lifecycle.Rendering, error) {
	var tr trace
	var r lifecycle.Rendering
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, r, err
	}
	body, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok || len(body) < sha256.Size {
		return nil, r, errDamaged
	}
	sum, body := body[:sha256.Size], body[sha256.Size:]
	if own := sha256.Sum256(body); !bytes.Equal(own[:], sum) {
		return nil, r, errDamaged
	}
	dec := gob.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&tr); err != nil {
		return nil, r, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if !tr.holds(ctx, t) {
		return nil, r, errOtherTree
	}
	if err := dec.Decode(&r); err != nil {
		return nil, r, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if r.Objects == nil { // gob does not tell an empty list from none
		r.Objects = []lifecycle.Object{}
	}
	return tr, r, nil
}

// add writes a rendering, and removes those that were used longest ago beyond
// the bounds.
func (d *disk) add(key requestKey, tr trace, r lifecycle.Rendering) {
	if err := d.write(key, tr, r); err != nil {
		d.log.Debug("a rendering cannot be kept", "folder", d.dir, "err", err)
		return
	}
	if err := d.prune(); err != nil {
		d.log.Debug("old renderings cannot be removed", "folder", d.dir, "err", err)
	}
}

func (d *disk) write(key requestKey, tr trace, r lifecycle.Rendering) error {
	var body bytes.Buffer
	enc := gob.NewEncoder(&body)
	if err := errors.Join(enc.Encode(tr), enc.Encode(r)); err != nil {
		return err
	}
	if int64(body.Len()) > d.maxBytes {
		return nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256(body.Bytes())
	name := prefixOf(key) + hex.EncodeToString(sum[:16])
	return atomicfile.Write(filepath.Join(d.dir, name), slices.Concat([]byte(magic), sum[:], body.Bytes()))
}

// files are the renderings, the one that was used longest ago first.
func (d *disk) files() ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && renderingName(e.Name()) {
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	return files, nil
}

// renderingName says whether a file is one of ours: nothing else is removed.
func renderingName(name string) bool {
	return len(name) == 32+1+32 && name[32] == '.' && strings.Trim(name, "0123456789abcdef.") == ""
}

// prune keeps the folder within its bounds.
func (d *disk) prune() error {
	files, err := d.files()
	if err != nil {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.Size()
	}
	var errs []error
	for n := len(files); n > 0 && (n > d.maxEntries || total > d.maxBytes); n-- {
		oldest := files[len(files)-n]
		total -= oldest.Size()
		if err := os.Remove(filepath.Join(d.dir, oldest.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, d.sweep())...)
}

// sweep removes the temporary files of processes that were killed.
func (d *disk) sweep() error {
	names, err := filepath.Glob(filepath.Join(d.dir, atomicfile.TempPrefix+"*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleTemp {
			_ = os.Remove(name)
		}
	}
	return nil
}
