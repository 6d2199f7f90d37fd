package source

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// find walks up to the checkout's root and its Git folder. Links are resolved
// first: a link into a checkout lies in it.
func find(dir string) (root, gitDir string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	start, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w: %w", abs, ErrNoRepository, err)
	}
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		return "", "", fmt.Errorf("%s: %w: it is no folder", abs, ErrNoRepository)
	}
	for at := start; ; at = filepath.Dir(at) {
		dotGit := filepath.Join(at, ".git")
		info, err := os.Stat(dotGit)
		switch {
		case err == nil && info.IsDir() && isGitDir(dotGit):
			return at, dotGit, nil
		case err == nil && !info.IsDir():
			gitDir, err := linked(dotGit)
			return at, gitDir, err
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", "", err
		case isGitDir(at):
			return at, at, nil
		}
		if at == filepath.Dir(at) {
			return "", "", fmt.Errorf("%s: %w, nor is a folder above it", abs, ErrNoRepository)
		}
	}
}

// linked reads a file .git: that of a linked worktree or a submodule.
func linked(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(string(data), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s: %w: it does not begin with \"gitdir: \"", file, ErrNoRepository)
	}
	gitDir := absolute(filepath.Dir(file), strings.TrimRight(dir, "\r\n"))
	if !isGitDir(gitDir) {
		return "", fmt.Errorf("%s: %w: it leads to %s, which is no Git folder; git worktree repair may mend it", file, ErrNoRepository, gitDir)
	}
	return gitDir, nil
}

// isGitDir holds for what git takes for one too.
func isGitDir(dir string) bool {
	common, err := commonDir(dir)
	if err != nil {
		return false
	}
	for _, name := range []string{filepath.Join(common, "objects"), filepath.Join(common, "refs")} {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err = os.Lstat(filepath.Join(dir, "HEAD")) // once a link, which may dangle
	return err == nil
}

// commonDir is where a linked worktree shares objects and references.
func commonDir(gitDir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	return absolute(gitDir, strings.TrimRight(string(data), "\r\n")), nil
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// maxAlternates is how deep git follows alternates of alternates: five times.
const maxAlternates = 6

// alternates returns the object folders that one borrows from, see
// gitrepository-layout(5), objects/info/alternates. What is no folder is passed
// over, as git does with a warning.
func alternates(objects string) ([]string, error) {
	seen := []string{objects}
	from := []string{objects}
	for range maxAlternates {
		var next []string
		for _, dir := range from {
			lines, err := readAlternates(dir)
			if err != nil {
				return nil, err
			}
			for _, at := range lines {
				if info, err := os.Stat(at); slices.Contains(seen, at) || err != nil || !info.IsDir() {
					continue
				}
				if filepath.Base(at) != "objects" {
					return nil, fmt.Errorf("%w: it borrows objects from %s, a folder not named objects", ErrUnsupported, at)
				}
				seen, next = append(seen, at), append(next, at)
			}
		}
		from = next
	}
	return seen[1:], nil
}

func readAlternates(objects string) ([]string, error) {
	file, err := os.Open(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var dirs []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		if quoted, err := strconv.Unquote(line); err == nil && line[0] == '"' {
			line = quoted
		}
		dirs = append(dirs, absolute(objects, line))
	}
	return dirs, lines.Err()
}
