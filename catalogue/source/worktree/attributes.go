package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
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

var noFolding = regexp.MustCompile(`(?im)^\s*ignorecase\s*=\s*false\s*$`)

func (c *checkout) surroundings(st *status, work *scratch) (*surroundings, error) {
	s := &surroundings{staged: map[string]bool{}, root: c.root, above: map[string]attributes{}}
	s.settled = func(info fs.FileInfo) bool { return c.settled(info, work.began) }
	h := sha256.New()
	fmt.Fprintln(h, cacheHeader, st.head)
	for _, l := range st.lines {
		if path.Base(l.path) == attributesFile && l.index.mode != 0 {
			s.staged[l.path] = true
			fmt.Fprintf(h, "%q %v\n", l.path, l.index)
		}
	}
	for _, file := range []string{
		filepath.Join(c.common, "config"), filepath.Join(c.gitDir, "config.worktree"),
		filepath.Join(c.common, "info", "attributes"), filepath.Join(c.gitDir, "info", "sparse-checkout"),
	} {
		content, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		fmt.Fprintf(h, "%v %q\n", err == nil, content)
		switch text := noFolding.ReplaceAllString(string(content), ""); {
		case filepath.Base(file) == "sparse-checkout":
			s.sparse = err == nil
		case strings.Contains(strings.ToLower(text), "ignorecase"):
			s.foldsCase = true
		}
	}
	userSettings(h, c.env)
	s.context = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

// userSettings takes in where git finds the user's configuration and attributes,
// see git-config(1), Files, and what the environment sets.
func userSettings(w io.Writer, env []string) {
	vars := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
		if strings.HasPrefix(name, "GIT_CONFIG") || strings.HasPrefix(name, "GIT_ATTR") {
			fmt.Fprintf(w, "%q\n", v)
		}
	}
	home := vars["HOME"]
	xdg := vars["XDG_CONFIG_HOME"]
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	for _, file := range []string{
		"/etc/gitconfig", "/etc/gitattributes", vars["GIT_CONFIG_SYSTEM"], vars["GIT_CONFIG_GLOBAL"],
		filepath.Join(home, ".gitconfig"), filepath.Join(xdg, "git", "config"), filepath.Join(xdg, "git", "attributes"),
	} {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(w, "%q %s\n", file, fileKey(info))
		}
	}
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
