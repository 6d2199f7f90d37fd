package gopackage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// makeTree makes a tree of a txtar archive and of further files.
func makeTree(t testing.TB, archive string, more map[string]source.File) source.Tree {
	t.Helper()
	files := map[string]source.File{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		files[f.Name] = source.File{Content: string(f.Data)}
	}
	for name, f := range more {
		files[name] = f
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// open opens a tree for the rest of a test.
func open(t testing.TB, tree source.Tree, env ...string) *gopackage.Folder {
	t.Helper()
	temp := t.TempDir()
	f, err := gopackage.Open(t.Context(), tree, gopackage.Config{Env: append(os.Environ(), env...), TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		left, err := filepath.Glob(filepath.Join(temp, "*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	})
	return f
}

// lines says what a recipe reads and what is wrong, one line each.
func lines(t testing.TB, f *gopackage.Folder, b catalogue.GoBuild, platforms ...string) []string {
	t.Helper()
	if len(platforms) == 0 {
		platforms = []string{"linux/amd64"}
	}
	reads, err := f.Reads(t.Context(), []gopackage.Recipe{{Build: b, Platforms: platforms}})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, file := range reads[0].Files {
		list = append(list, fmt.Sprintf("%s %s %s", file.Why, file.Path, file.Package))
	}
	for _, p := range reads[0].Problems {
		list = append(list, "problem "+p.String())
	}
	return list
}
