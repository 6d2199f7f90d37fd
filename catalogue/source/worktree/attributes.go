package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const attributesFile = ".gitattributes"

// surroundings is what else than a file and its index entry says what git makes
// of the file.
type surroundings struct {
	// context is a hash of what holds for all files.
	context string
	// sparse says that the checkout is a sparse one, foldsCase that names may
	// differ from those in the index by case.
	sparse, foldsCase bool
	// staged are the .gitattributes that are in the index and not in HEAD, or
	// not as there.
	staged  map[string]bool
	settled func(fs.FileInfo) bool
	root    string
	above   map[string]attributes
}

// attributes are the .gitattributes in a folder and those above it.
type attributes struct {
	key     string
	settled bool
	missing []string // folders that have none
	linked  bool     // one is a link, or a folder
}

func (c *checkout) surroundings(st *status, work *scratch) *surroundings {
	s := &surroundings{sparse: st.configured.sparse, staged: map[string]bool{}, root: c.root, above: map[string]attributes{}}
	s.settled = func(info fs.FileInfo) bool { return c.settled(info, work.began) }
	h := sha256.New()
	fmt.Fprintln(h, cacheHeader, st.head, st.configured.hash)
	for _, l := range st.lines {
		if path.Base(l.path) == attributesFile && l.index.mode != 0 {
			s.staged[l.path] = true
			fmt.Fprintf(h, "%q %v\n", l.path, l.index)
		}
	}
	s.context = hex.EncodeToString(h.Sum(nil))
	return s
}

// under completes them by what git says of its configuration.
func (s *surroundings) under(e *effective) {
	s.foldsCase = e.foldsCase
	s.context = checksum([]byte(s.context + e.hash))
}

// attributes returns those of a folder, "" the root.
func (s *surroundings) attributes(dir string) attributes {
	if a, ok := s.above[dir]; ok {
		return a
	}
	a := attributes{settled: true}
	if dir != "" {
		up, _ := path.Split(dir)
		a = s.attributes(strings.TrimSuffix(up, "/"))
		a.missing = slices.Clip(a.missing)
	}
	info, err := os.Lstat(filepath.Join(s.root, filepath.FromSlash(dir), attributesFile))
	if err != nil {
		a.missing = append(a.missing, dir)
	} else {
		a.linked = a.linked || !info.Mode().IsRegular()
		a.settled = a.settled && s.settled(info)
		a.key = checksum([]byte(a.key + " " + dir + " " + fileKey(info)))[:16]
	}
	s.above[dir] = a
	return a
}

// of returns the attributes of a file.
func (s *surroundings) of(name string) attributes {
	dir, _ := path.Split(name)
	return s.attributes(strings.TrimSuffix(dir, "/"))
}

// indexed says whether git would take the attributes of a file from the index,
// since there are none in the working directory, see gitattributes(5), or a link
// that it does not follow.
func (s *surroundings) indexed(ctx context.Context, name string, base *baseTree) (bool, error) {
	if s.of(name).linked {
		return true, nil
	}
	for _, dir := range s.of(name).missing {
		file := path.Join(dir, attributesFile)
		if s.staged[file] {
			return true, nil
		}
		if has, err := base.has(ctx, file); has || err != nil {
			return has, err
		}
	}
	return false, nil
}
