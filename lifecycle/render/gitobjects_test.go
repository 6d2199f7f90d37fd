package render_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// store holds Git objects under the IDs that Git gives them. Unlike a working
// tree it can hold what no checkout could, and it counts what is read.
type store struct {
	trees map[source.ID][]source.Entry
	blobs map[source.ID][]byte

	mu    sync.Mutex
	reads map[source.ID]int
}

func (s *store) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, ok := s.trees[id]
	if !ok {
		return nil, fmt.Errorf("tree %s: %w", id, source.ErrNotFound)
	}
	return t, nil
}

func (s *store) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	b, ok := s.blobs[id]
	if !ok {
		return nil, 0, fmt.Errorf("blob %s: %w", id, source.ErrNotFound)
	}
	s.mu.Lock()
	s.reads[id]++
	s.mu.Unlock()
	return io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
}

// Contents of these prefixes make entries that are no plain files.
const (
	linkTo    = "link\x00"
	submodule = "submodule\x00"
)

// treeOf makes a tree of files by path.
func treeOf(files map[string]string) (source.Tree, *store) {
	s := &store{trees: map[source.ID][]source.Entry{}, blobs: map[source.ID][]byte{}, reads: map[source.ID]int{}}
	return source.Tree{ID: s.write(files), Objects: s}, s
}

func (s *store) write(files map[string]string) source.ID {
	dirs := map[string]map[string]string{}
	entries := map[string]source.Entry{}
	for p, content := range files {
		name, rest, deep := strings.Cut(p, "/")
		if deep {
			if dirs[name] == nil {
				dirs[name] = map[string]string{}
			}
			dirs[name][rest] = content
			continue
		}
		mode := source.ModeFile
		if target, ok := strings.CutPrefix(content, linkTo); ok {
			mode, content = source.ModeSymlink, target
		}
		if id, ok := strings.CutPrefix(content, submodule); ok {
			entries[name] = source.Entry{Name: name, Mode: source.ModeSubmodule, ID: source.ID(id)}
			continue
		}
		id := objectID("blob", []byte(content))
		s.blobs[id] = []byte(content)
		entries[name] = source.Entry{Name: name, Mode: mode, ID: id}
	}
	for name, below := range dirs {
		entries[name] = source.Entry{Name: name, Mode: source.ModeDir, ID: s.write(below)}
	}
	var list []source.Entry
	for _, e := range entries {
		list = append(list, e)
	}
	sortName := func(e source.Entry) string {
		if e.Mode == source.ModeDir {
			return e.Name + "/"
		}
		return e.Name
	}
	slices.SortFunc(list, func(a, b source.Entry) int { return strings.Compare(sortName(a), sortName(b)) })
	var raw bytes.Buffer
	for _, e := range list {
		id, _ := hex.DecodeString(string(e.ID))
		fmt.Fprintf(&raw, "%o %s\x00%s", e.Mode, e.Name, id)
	}
	id := objectID("tree", raw.Bytes())
	s.trees[id] = list
	return id
}

func objectID(kind string, content []byte) source.ID {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return source.ID(hex.EncodeToString(h.Sum(nil)))
}

// checkout writes the files to a folder, as Git would.
func checkout(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for p, content := range files {
		file := filepath.Join(root, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, linkTo); ok {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// archive reads files in the form "-- path --\ncontent", with "-> target" for
// links.
func archive(text string) map[string]string {
	files := map[string]string{}
	var name string
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if inner, ok := strings.CutPrefix(trimmed, "-- "); ok && strings.HasSuffix(inner, " --") {
			name = strings.TrimSuffix(inner, " --")
			if link, target, ok := strings.Cut(name, " -> "); ok {
				files[path.Clean(link)] = linkTo + target
				name = ""
				continue
			}
			files[name] = ""
			continue
		}
		if name != "" {
			files[name] += line
		}
	}
	return files
}
