package asminclude

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Result is what the assembly files of a package include.
type Result struct {
	// Files are the files of the tree that are included, without links, in the
	// order in which they are found.
	Files []string
	// Problems are the includes that lead out of the tree, or that nobody can
	// follow.
	Problems []Problem
}

// Problem is what is wrong with an include.
type Problem struct {
	At      string // file and line in the tree, such as "api/x_amd64.s:1"
	Message string
}

// Tree reads the files of a tree by their paths from its root.
type Tree interface {
	// ReadFile returns a file's content; an error that matches [fs.ErrNotExist]
	// if there is none.
	ReadFile(name string) ([]byte, error)
	// Resolve returns a path without symbolic links.
	Resolve(name string) string
}

// Check follows what the assembly files of the package in a folder of the tree
// include. The folder and the files are paths from the tree's root. Errors are
// those of the tree.
func Check(tree Tree, dir string, files []string) (Result, error) {
	c := checker{tree: tree, dir: tree.Resolve(dir), seen: map[string]bool{}}
	for _, file := range files {
		if err := c.file(tree.Resolve(file)); err != nil {
			return Result{}, err
		}
	}
	return c.result, nil
}

type checker struct {
	tree   Tree
	dir    string // where the assembler runs
	seen   map[string]bool
	result Result
}

func (c *checker) file(name string) error {
	if c.seen[name] {
		return nil
	}
	c.seen[name] = true
	content, err := c.tree.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the go command says so
	}
	if err != nil {
		return err
	}
	for _, in := range scan(content) {
		if err := c.include(name, in); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) include(from string, in include) error {
	at := fmt.Sprintf("%s:%d", from, in.line)
	problem := func(format string, args ...any) {
		c.result.Problems = append(c.result.Problems, Problem{At: at, Message: fmt.Sprintf(format, args...)})
	}
	if in.name == "" {
		problem("#include needs a name in quotes, so that it shows what is read")
		return nil
	}
	name := strings.ReplaceAll(in.name, `\`, "/")
	if path.IsAbs(name) || len(name) > 1 && name[1] == ':' {
		problem("#include %q leads out of the tree", in.name)
		return nil
	}
	down := name
	for strings.HasPrefix(down, "../") || strings.HasPrefix(down, "./") || strings.HasPrefix(down, "/") {
		_, down, _ = strings.Cut(down, "/")
	}
	if strings.Contains("/"+down+"/", "/../") {
		// Behind a link that is another folder than it seems.
		problem("#include %q goes up after it went down: write it without that", in.name)
		return nil
	}
	to := path.Join(c.dir, name)
	if to == ".." || strings.HasPrefix(to, "../") {
		problem("#include %q leads out of the tree", in.name)
		return nil
	}
	to = c.tree.Resolve(to)
	_, err := c.tree.ReadFile(to)
	if errors.Is(err, fs.ErrNotExist) {
		if strings.HasPrefix(path.Clean(name), "../") {
			// The assembler would go on in its own folders, and up from there.
			problem("#include %q: the tree has no %s", in.name, to)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !c.seen[to] {
		c.result.Files = append(c.result.Files, to)
	}
	return c.file(to)
}
