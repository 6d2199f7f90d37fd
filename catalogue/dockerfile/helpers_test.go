package dockerfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// sample reads one of the Dockerfiles of testdata.
func sample(t testing.TB, name string) *File {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, name, string(content))
}

func parsed(t testing.TB, path, content string) *File {
	t.Helper()
	f, err := Parse(path, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func planned(t testing.TB, content string, o Options) *Plan {
	t.Helper()
	p, err := parsed(t, "Dockerfile", content).Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tree is a tree of files that hold their paths. A path that ends with "->" and
// a target is a symbolic link.
func tree(t testing.TB, files map[string]string, paths ...string) source.Tree {
	t.Helper()
	all := map[string]source.File{}
	for _, p := range paths {
		all[p] = source.File{Content: p}
	}
	for p, content := range files {
		f := source.File{Content: content}
		if target, ok := link(content); ok {
			f = source.File{Content: target, Mode: source.ModeSymlink}
		}
		all[p] = f
	}
	tree, err := source.FromFiles(all)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func link(content string) (target string, ok bool) {
	const arrow = "-> "
	if len(content) > len(arrow) && content[:len(arrow)] == arrow {
		return content[len(arrow):], true
	}
	return "", false
}
