package golang_test

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// The example of the page is built as the page says.
func TestPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	page, err := os.ReadFile("../../../docs/build-go.md")
	if err != nil {
		t.Fatal(err)
	}
	full, err := tree(map[string]string{
		"pharos.yaml":                       strings.Replace(string(yamlBlock.FindSubmatch(page)[1]), "linux/arm64", "linux/"+otherArchitecture(), 1),
		"go.mod":                            "module example.com/shop\n\ngo 1.24\n",
		"go.sum":                            "",
		"LICENSE":                           "free\n",
		"libs/words/words.go":               "package words\n\nconst Hello = \"hello\"\n",
		"services/api/templates/index.html": "<html>",
		"services/api/main_test.go":         "package main\n\nvar _ = missing\n",
		"services/api/main.go":              "package main\n\nimport \"example.com/shop/libs/words\"\n\nvar build string\n\nfunc main() { println(words.Hello, build, tagged) }\n",
		"services/api/tagged.go":            "//go:build netgo && for_linux\n\npackage main\n\nconst tagged = true\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Load(t.Context(), full)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context(), full)
	if err != nil {
		t.Fatal(err)
	}
	r := lifecycle.BuildRequest{State: states[0], Full: full, Repository: f.host + "/dev/api"}
	img := platformImage(t, pulled(t, r, f.build(r)), "linux/"+runtime.GOARCH)
	if got, want := run(t, img), "hello "+string(states[0].Fingerprint)+" true"; got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
	files := list(t, img)
	for _, want := range []string{"app/api 555", "app/LICENSE 444", "app/services/api/templates/index.html 444"} {
		if !slices.Contains(files, want) {
			t.Errorf("the image has no %s: %v", want, files)
		}
	}
}

// otherArchitecture is one beside amd64 that includes this machine's.
func otherArchitecture() string {
	if runtime.GOARCH == "amd64" {
		return "arm64"
	}
	return runtime.GOARCH
}
