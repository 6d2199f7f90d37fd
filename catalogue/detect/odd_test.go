package detect_test

import (
	"strings"
	"testing"

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
