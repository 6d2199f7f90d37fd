package gopackage_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// build builds a package of a tree with the go command, in a folder of its own.
func build(t *testing.T, tree source.Tree, pkg string, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := source.Export(t.Context(), tree, dir); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-buildid=", "-o", out}, args, []string{pkg})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS=linux", "GOARCH=amd64", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A program that is built from just the files that are read is the same as one
// that is built from all of the tree, and every one of them is needed for that.
func TestReadsAreWhatTheCompilerReads(t *testing.T) {
	t.Parallel()
	files := map[string]source.File{}
	for name, content := range map[string]string{
		"go.mod":            "module shop.example\n\ngo 1.26.0\n",
		"main.go":           "package main\n\nimport \"shop.example/web\"\n\nfunc main() { println(web.Count(), name) }\n",
		"name_linux.go":     "package main\n\nconst name = \"linux\"\n",
		"name_other.go":     "//go:build !linux\n\npackage main\n\nconst name = \"other\"\n",
		"main_test.go":      "package main\n",
		"web/web.go":        "package web\n\nimport \"embed\"\n\n//go:embed static\nvar files embed.FS\n\nfunc Count() int {\n\tall, _ := files.ReadDir(\"static\")\n\treturn len(all)\n}\n",
		"web/static/a.html": "a", "web/static/b.html": "b",
		"web/static/_hidden": "h", "web/README.md": "r", "unused/x.go": "package unused\n",
	} {
		files[name] = source.File{Content: content}
	}
	full, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	reads, err := open(t, full).Reads(t.Context(), []gopackage.Recipe{{Build: catalogue.GoBuild{Package: "."}, Platforms: []string{"linux/amd64"}}})
	if err != nil || len(reads[0].Problems) > 0 {
		t.Fatal(reads, err)
	}
	kept := map[string]source.File{}
	for _, f := range reads[0].Files {
		kept[f.Path] = files[f.Path]
	}
	want := []string{"go.mod", "main.go", "name_linux.go", "web/static/a.html", "web/static/b.html", "web/web.go"}
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(kept))); d != "" {
		t.Fatal(d)
	}
	pruned, err := source.FromFiles(kept)
	if err != nil {
		t.Fatal(err)
	}
	program := build(t, full, ".")
	if !bytes.Equal(program, build(t, pruned, ".")) {
		t.Error("the programs differ")
	}
	delete(kept, "web/static/b.html")
	shrunk, err := source.FromFiles(kept)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(program, build(t, shrunk, ".")) {
		t.Error("the program is the same without an embedded file")
	}
}

func TestMains(t *testing.T) {
	t.Parallel()
	main := "package main\n\nimport _ \"nowhere.example/x\"\n\nfunc main() {}\n"
	f := open(t, makeTree(t, "", map[string]source.File{
		"go.mod": {Content: "module shop.example\n\ngo 1.26.0\n"}, "lib/lib.go": {Content: "package lib\n"},
		"cmd/api/main.go": {Content: main}, "main.go": {Content: main},
		"script.go": {Content: "//go:build ignore\n\npackage main\n"}, "testdata/x/main.go": {Content: main}, "_old/main.go": {Content: main},
		"windows/main_windows.go": {Content: main}, "vendor/v/go.mod": {Content: "module v\n"}, "vendor/v/main.go": {Content: main},
		"tools/go.mod": {Content: "module shop.example/tools\n\ngo 1.26.0\n"}, "tools/gen/main.go": {Content: main},
		"broken/go.mod": {Content: "nonsense\n"}, "broken/main.go": {Content: main},
	}), "GOPROXY=off")
	got, problems, err := f.Mains(t.Context(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	want := []gopackage.Main{
		{Package: ".", ImportPath: "shop.example", Module: "."},
		{Package: "./cmd/api", ImportPath: "shop.example/cmd/api", Module: "."},
		{Package: "./tools/gen", ImportPath: "shop.example/tools/gen", Module: "tools"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(problems) != 1 || problems[0].At != "broken/go.mod" {
		t.Errorf("problems %v", problems)
	}
}

func TestOpenWithoutGo(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	_, err := gopackage.Open(t.Context(), makeTree(t, shop, nil), gopackage.Config{Env: []string{"PATH=" + temp}, TempDir: temp})
	if !errors.Is(err, gopackage.ErrNoGo) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestOpenAnEmptyTree(t *testing.T) {
	t.Parallel()
	f := open(t, makeTree(t, "", nil))
	mains, problems, err := f.Mains(t.Context(), "linux/amd64")
	if err != nil || len(mains)+len(problems) > 0 {
		t.Errorf("got %v, %v, %v", mains, problems, err)
	}
}

func TestReadsEndsWithTheContext(t *testing.T) {
	t.Parallel()
	f := open(t, makeTree(t, shop, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Reads(ctx, []gopackage.Recipe{{Build: catalogue.GoBuild{Package: "./services/api"}, Platforms: []string{"linux/amd64"}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Objects that are missing are an error, not a tree without files.
func TestOpenATreeThatIsNotThere(t *testing.T) {
	t.Parallel()
	gone := source.Tree{ID: "0123456789012345678901234567890123456789", Objects: source.NewMemory()}
	_, err := gopackage.Open(t.Context(), gone, gopackage.Config{Env: os.Environ(), TempDir: t.TempDir()})
	if !errors.Is(err, source.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// What a killed process left goes, and what another one works in stays.
func TestOpenRemovesWhatWasLeft(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	left := filepath.Join(temp, "pharos-golist-1")
	if err := os.MkdirAll(filepath.Join(left, "tree", "root"), 0o700); err != nil {
		t.Fatal(err)
	}
	var folders []*gopackage.Folder
	for range 2 {
		f, err := gopackage.Open(t.Context(), makeTree(t, shop, nil), gopackage.Config{Env: os.Environ(), TempDir: temp})
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, f)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
	if used, err := os.ReadDir(temp); err != nil || len(used) != len(folders) {
		t.Errorf("in use are %v, %v", used, err)
	}
	for _, f := range folders {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
