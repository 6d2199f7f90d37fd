package detect

import (
	"context"
	"path"
	"slices"
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
	for _, f := range files {
		d.files = append(d.files, f.Path)
		if !f.Mode.IsFile() {
			continue
		}
		d.isFile[f.Path] = true
		if !ignored(path.Dir(f.Path)) && writable(f.Path) {
			d.seen = append(d.seen, f.Path)
		}
	}
	d.folders = newFolders(d.files)
	d.withOwn, err = withOwn(ctx, d.tree)
	return err
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
