package detect

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/inputs"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/treefiles"
)

// scan lists the files of the tree.
func (d *detection) scan(ctx context.Context) error {
	files, err := treefiles.List(ctx, d.tree)
	if err != nil {
		return err
	}
	d.isFile = map[string]bool{}
	var unnamed []string
	for _, f := range files {
		d.files = append(d.files, f.Path)
		if !f.Mode.IsFile() {
			continue
		}
		d.isFile[f.Path] = true
		switch base := path.Base(f.Path); {
		case ignored(path.Dir(f.Path)):
		case writable(f.Path):
			d.seen = append(d.seen, f.Path)
		case isDockerfile(base) || base == "go.mod" || base == "main.go":
			unnamed = append(unnamed, strconv.QuoteToASCII(f.Path))
		}
	}
	d.noteUnnamed(unnamed)
	d.folders = newFolders(d.files)
	d.withOwn, err = withOwn(ctx, d.tree)
	return err
}

// noteUnnamed says what may make an image, and has a name that keeps it from being
// looked at.
func (d *detection) noteUnnamed(files []string) {
	const most = 3
	if len(files) == 0 {
		return
	}
	d.left = true
	more := ""
	if n := len(files) - most; n > 0 {
		files, more = files[:most], fmt.Sprintf(" and %d more", n)
	}
	d.note("%s%s: left out, since pharos.yaml cannot name what has a control character, a backslash or bytes that are no UTF-8 in its path", strings.Join(files, ", "), more)
}

// withOwn is the tree as it will be: with pharos.yaml and pharos.lock.
func withOwn(ctx context.Context, tree source.Tree) (source.Tree, error) {
	root, err := tree.Objects.Tree(ctx, tree.ID)
	if err != nil {
		return source.Tree{}, err
	}
	made := source.NewMemory()
	entries := slices.DeleteFunc(slices.Clone(root), func(e source.Entry) bool { return isOwn(e.Name) })
	for _, name := range []string{catalogue.FileName, catalogue.LockFileName} {
		entries = append(entries, source.Entry{Name: name, Mode: source.ModeFile, ID: made.PutBlob(nil)})
	}
	id, err := made.PutTree(entries)
	return source.Tree{ID: id, Objects: source.Overlay(made, tree.Objects)}, err
}

// writable says whether pharos.yaml can name a path other than by a pattern.
func writable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) })
}

// literal is the pattern for a path. Bytes that are no text, which YAML cannot
// hold, are any byte in it.
func literal(name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(inputs.Literal(name), "\x00"), "\x00", "?")
}

// ignored says whether a folder is not looked into: it, or one above it, holds
// what others wrote or what tests read.
func ignored(dir string) bool {
	if dir == "." {
		return false
	}
	for part := range strings.SplitSeq(dir, "/") {
		switch part {
		case "vendor", "node_modules", "testdata", "third_party", "site-packages":
			return true
		}
		if part[0] == '.' || part[0] == '_' {
			return true
		}
	}
	return false
}

// auxiliary says whether a folder is, by its name or one above it, for what helps
// to develop and is not delivered.
func auxiliary(dir string) bool {
	for part := range strings.SplitSeq(dir, "/") {
		switch part {
		case "internal", "hack", "tool", "tools", "script", "scripts", "example", "examples", "sample", "samples",
			"test", "tests", "e2e", "testing", "integration", "bench", "benchmark", "benchmarks", "docs", "doc",
			"gen", "generator", "generators", "codegen", "ci":
			return true
		}
	}
	return false
}
