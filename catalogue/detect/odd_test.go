package detect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/inputs"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// Names that YAML, patterns or lines cannot hold as they are neither break the file
// nor put something into it.
func TestNamesThatAreNoText(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]string{
		"a newline": "x\nimages: []\n", "no UTF-8": "x\xff\xfe", "control characters": "x\x01\x7f", "a line separator": "x\u2028\u0085y", "a quote": "x\"'`", "a comment": "x #y", "brackets": "[x]*?{y}", "a backslash": `x\y`,
	} {
		files := map[string]source.File{
			"web/Dockerfile":                        {Content: "FROM scratch\nCOPY web/src web/only /\n"},
			"web/src/" + odd:                        {},
			"web/only/" + odd:                       {},
			"web/only/plain":                        {},
			odd + "/Dockerfile":                     {Content: "FROM scratch\n"},
			odd + "/package.json":                   {Content: `{"scripts": {"start": "x"}}`},
			odd + "/go.mod":                         {Content: "module odd.example\n\ngo 1.26.0\n"},
			odd + "/main.go":                        {Content: "package main\n\nfunc main() {}\n"},
			"deploy/" + odd + "/kustomization.yaml": {Content: "resources: [../x.yaml]\n"},
			"deploy/x.yaml":                         {Content: "kind: Pod\nspec: {containers: [{image: \"web\"}, {image: \"a\\nb\"}]}\n"},
		}
		found := look(t, files, options(t))
		if found.Images[0].Name != "web" && found.Images[len(found.Images)-1].Name != "web" {
			t.Errorf("%s: the images are %v", name, found.Images)
		}
		for _, note := range found.Notes {
			if strings.Contains(note, "\n") {
				t.Errorf("%s: the note has lines: %q", name, note)
			}
		}
		checkIts(t, files, found)
	}
}

// That nothing was found must not be said where something was left out.
func TestWhatCannotBeNamedIsSaid(t *testing.T) {
	t.Parallel()
	files := map[string]source.File{}
	for _, name := range []string{"x\x1b[31m/Dockerfile", "x\ny/Dockerfile", `x\y/Dockerfile`, "x\xff/Dockerfile", "x\x01/main.go", "vendor/x\x01/Dockerfile"} {
		files[name] = source.File{Content: "FROM scratch\n"}
	}
	found := look(t, files, options(t))
	text := string(found.YAML)
	const want = `"x\x01/main.go", "x\ny/Dockerfile", "x\x1b[31m/Dockerfile" and 2 more: left out`
	if len(found.Notes) != 1 || !strings.HasPrefix(found.Notes[0], want) || strings.Contains(text, "No Go program") {
		t.Errorf("the notes are %q, the file is\n%s", found.Notes, text)
	}
	checkIts(t, files, found)
}

// Ignore rules that are more than is looked at leave out the Dockerfiles that they
// are for, and no others; a check of the catalogue says so too.
func TestIgnoreRulesBeyondTheLimits(t *testing.T) {
	t.Parallel()
	const image = "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: web\n  build: {dockerfile: {path: web/Dockerfile}}\n  inputs: [web, \"site/**\", a]\n"
	for name, c := range map[string]struct{ ignore, want string }{
		"a large file":          {strings.Repeat("#", source.MaxFile+1), "web/Dockerfile.dockerignore: has more than 16777216 bytes, at most 262144 are read"},
		"many patterns":         {strings.Repeat("a\n", 10_001), "web/Dockerfile.dockerignore: has 10001 patterns, at most 10000 are read"},
		"many wildcards":        {strings.Repeat("site/"+strings.Repeat("*a", 400)+"?\n", 300), "web/Dockerfile.dockerignore: it has too many patterns for the build context: "},
		"many wildcards in any": {strings.Repeat("*"+strings.Repeat("?", 500)+"*\n", 500), "web/Dockerfile.dockerignore: it has too many patterns for the build context: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]source.File{
				"a": {}, "api/Dockerfile": {Content: "FROM scratch\nCOPY a /\n"},
				"web/Dockerfile":              {Content: "FROM scratch\nCOPY . /\n"},
				"web/Dockerfile.dockerignore": {Content: c.ignore},
			}
			for i := range 4000 {
				files[fmt.Sprintf("site/%s%04d", strings.Repeat("a", 200), i)] = source.File{}
			}
			found := look(t, files, options(t))
			if len(found.Images) != 1 || found.Images[0].Name != "api" {
				t.Errorf("the images are %v", found.Images)
			}
			if want := "web/Dockerfile makes no image yet: " + c.want; len(found.Notes) != 1 || !strings.HasPrefix(found.Notes[0], want) {
				t.Errorf("the notes are %q, want %q", found.Notes, want)
			}
			files["pharos.yaml"] = source.File{Content: image}
			said, err := inputs.Check(t.Context(), tree(t, files), inputs.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if len(said) != 1 || said[0].Path != "web/Dockerfile.dockerignore" || !strings.HasPrefix(said[0].Message, c.want) {
				t.Errorf("a check says %v", said)
			}
		})
	}
}

// What takes long for each Dockerfile must not take a thousand times as long.
func TestManyDockerfilesBeyondTheLimits(t *testing.T) {
	t.Parallel()
	files := map[string]source.File{".dockerignore": {Content: strings.Repeat("site/"+strings.Repeat("*a", 400)+"?\n", 300)}}
	for i := range 4000 {
		files[fmt.Sprintf("site/%s%04d", strings.Repeat("a", 200), i)] = source.File{}
	}
	for i := range 13 {
		files[fmt.Sprintf("d%02d/Dockerfile", i)] = source.File{Content: "FROM scratch\nCOPY . /\n"}
	}
	found := look(t, files, options(t))
	const last = "d03/Dockerfile makes no image yet, nor do the 9 Dockerfiles behind it: "
	if len(found.Images) != 0 || len(found.Notes) != 4 || !slices.ContainsFunc(found.Notes, func(n string) bool { return strings.HasPrefix(n, last) }) {
		t.Errorf("the images are %v, the notes are %q", found.Images, found.Notes)
	}
	if strings.Contains(string(found.YAML), "No Go program") {
		t.Errorf("the file says that nothing was found:\n%s", found.YAML)
	}
}
