package detect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// More than anybody has, as in a repository of test data, must not make a file
// that cannot be read in the end.
func TestManyDockerfilesAreLeftOut(t *testing.T) {
	t.Parallel()
	files := map[string]source.File{}
	for i := range 1003 {
		content := "FROM scratch\nCOPY a /\n"
		if i%2 == 0 {
			content = "no Dockerfile\n"
		}
		files[fmt.Sprintf("d%04d/Dockerfile", i)] = source.File{Content: content}
	}
	files["a"] = source.File{}
	tree, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	found, err := detect.Detect(t.Context(), tree, detect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const note = "there are 1003 Dockerfiles and the first 1000 are looked at: write recipes for the others, from d1000/Dockerfile on, by hand"
	if len(found.Images) != 500 || found.Images[499].Path != "d0999/Dockerfile" || !slices.Contains(found.Notes, note) {
		t.Errorf("%d images; the notes end with %q", len(found.Images), found.Notes[max(0, len(found.Notes)-1):])
	}
	if !strings.Contains(string(found.YAML), "# there are 1003 Dockerfiles") || strings.Contains(string(found.YAML), "path: d1001") {
		t.Errorf("the file does not say so:\n%.300s", found.YAML)
	}
}

func TestManyProgramsAreLeftOut(t *testing.T) {
	t.Parallel()
	files := map[string]source.File{"go.mod": {Content: "module example.com/m\n\ngo 1.24\n"}}
	for i := range 1002 {
		files[fmt.Sprintf("p%04d/main.go", i)] = source.File{Content: "package main\n\nfunc main() {}\n"}
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	found, err := detect.Detect(t.Context(), tree, options(t))
	if err != nil {
		t.Fatal(err)
	}
	const note = "2 Go programs are left out, from p1000 on: 1000 recipes are written at the most, write others by hand"
	if len(found.Images) != 1000 || !slices.Contains(found.Notes, note) {
		t.Errorf("%d images, the notes are %q", len(found.Images), found.Notes)
	}
}

// Thousands of ignore rules that name nothing in the tree, as generated ones do,
// are left out of the inputs, and looked at once.
func TestManyIgnoreRulesThatNameNothing(t *testing.T) {
	t.Parallel()
	files := map[string]source.File{"Dockerfile": {Content: "FROM scratch\nCOPY . /\n"}, "secret": {}}
	rules := "secret\n"
	for i := range 2000 {
		files[fmt.Sprintf("src/f%d", i)] = source.File{}
		rules += fmt.Sprintf("gone/f%d\n", i)
	}
	files[".dockerignore"] = source.File{Content: rules}
	found := look(t, files, detect.Options{})
	if text := string(found.YAML); len(found.Images) != 1 || !strings.Contains(text, "secret") || strings.Contains(text, "gone/") {
		t.Errorf("the file is\n%s", text)
	}
}
