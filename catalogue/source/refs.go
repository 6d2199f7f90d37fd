package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// refs are references that are files, see gitrepository-layout(5): those of a
// linked worktree in its own folder, the others in the one that all share.
type refs struct{ gitDir, common string }

// errNoReference is for a name that there is no reference of.
var errNoReference = errors.New("there is no such reference")

// look looks a name up where git does, in its order.
func (r refs) look(name string) (ID, error) {
	for _, form := range []string{"%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"} {
		id, err := r.resolve(fmt.Sprintf(form, name))
		if !errors.Is(err, errNoReference) {
			return id, err
		}
	}
	return "", errNoReference
}

// maxSymbolic is how many symbolic references git follows.
const maxSymbolic = 5

// resolve follows symbolic references. The error is ErrUnborn for HEAD of a
// branch that does not exist.
func (r refs) resolve(name string) (ID, error) {
	at := name
	for range maxSymbolic + 1 {
		text, err := r.read(at)
		if errors.Is(err, errNoReference) && name == "HEAD" {
			return "", fmt.Errorf("%w: commit something first", ErrUnborn)
		}
		if err != nil {
			return "", err
		}
		target, symbolic := strings.CutPrefix(text, "ref:")
		if !symbolic {
			id, _, _ := strings.Cut(text, "\t") // FETCH_HEAD goes on
			if id = strings.ToLower(strings.TrimSpace(id)); !isID(ID(id)) {
				return "", fmt.Errorf("the reference %s holds no object ID: %.80q", at, text)
			}
			return ID(id), nil
		}
		if at = strings.TrimSpace(target); !safeRef(at) {
			return "", fmt.Errorf("the symbolic reference %s leads to %.80q, which is none", name, at)
		}
	}
	return "", fmt.Errorf("the reference %s is symbolic more than %d times", name, maxSymbolic)
}

// safeRef holds for names that are paths below refs, or those of the few files
// beside it: not every file there is a reference.
func safeRef(name string) bool {
	rest, below := strings.CutPrefix(name, "refs/")
	if !below {
		return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
	}
	if strings.ContainsAny(rest, "\\:\x00") {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part[0] == '.' {
			return false
		}
	}
	return true
}

// read returns the first line of a reference.
func (r refs) read(name string) (string, error) {
	if !safeRef(name) {
		return "", errNoReference
	}
	path := filepath.Join(r.dir(name), filepath.FromSlash(name))
	if target, err := os.Readlink(path); err == nil && safeRef(filepath.ToSlash(target)) {
		return "ref: " + filepath.ToSlash(target), nil // as git once wrote them
	}
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		line, _, _ := strings.Cut(string(data), "\n")
		return line, nil
	case !missing(path, err):
		return "", err
	case !strings.HasPrefix(name, "refs/"):
		return "", errNoReference
	}
	return r.packed(name)
}

// dir is where a reference is stored, see git-worktree(1), "REFS".
func (r refs) dir(name string) string {
	for _, own := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
		if strings.HasPrefix(name, own) {
			return r.gitDir
		}
	}
	if strings.HasPrefix(name, "refs/") {
		return r.common
	}
	return r.gitDir
}

// missing says whether an error of reading a file means that there is none: a
// folder of its name, or a file where a folder would have to be.
func missing(path string, err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) {
		return true
	}
	info, statErr := os.Stat(path)
	return statErr == nil && info.IsDir()
}

// packed looks a reference up in the file packed-refs. It is read anew each time:
// git moves references there while others read.
func (r refs) packed(name string) (string, error) {
	path := filepath.Join(r.common, "packed-refs")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoReference
	}
	if err != nil {
		return "", err
	}
	end := []byte(" " + name)
	for {
		i := bytes.Index(data, end)
		if i < 0 {
			return "", errNoReference
		}
		id := data[bytes.LastIndexByte(data[:i], '\n')+1 : i]
		data = data[i+len(end):]
		if (len(data) == 0 || data[0] == '\n' || data[0] == '\r') && isID(ID(id)) {
			return string(id), nil
		}
	}
}
