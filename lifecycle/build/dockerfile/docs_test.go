package dockerfile_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// compiler stands for the go command of a base: it writes all that it is given where
// the program is to be.
const compiler = `#!/bin/sh
[ "$CGO_ENABLED $1" = "1 build" ] || exit 1
shift
while [ "$1" != -o ]; do shift; done
mkdir -p "${2%/*}"
cat go.mod go.sum libs/*/* "$3"/* >"$2"
`

// The Dockerfile for cgo that the page on Go programs shows has all it needs of what
// the page declares, and no more.
func TestPageOnCgo(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/build-go.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Cgo\n")
	block := func(language string) string {
		found := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$").FindStringSubmatch(section)
		if found == nil {
			t.Fatalf("the section has no block of %s", language)
		}
		return found[1]
	}

	f := newFixture(t)
	tools := f.build(f.request(project{
		files: map[string]string{"Dockerfile": "FROM " + f.host + "/busybox:1\nCOPY --chmod=755 go /bin/go\n", "go": compiler},
		lock:  map[string]string{f.host + "/busybox:1": f.busybox(f.host + "/busybox:1")},
	}))
	files := map[string]source.File{
		"pharos.yaml":                  {Content: block("yaml")},
		"services/render/Dockerfile":   {Content: strings.NewReplacer("golang:", f.host+"/dev/web:", "debian:", f.host+"/debian:").Replace(block("dockerfile"))},
		"services/render/main.go":      {Content: "main\n"},
		"services/render/main_test.go": {Content: "test\n"},
		"libs/draw/draw.go":            {Content: "draw\n"},
		"go.mod":                       {Content: "mod\n"},
		"go.sum":                       {Content: "sum\n"},
		"README.md":                    {Content: "readme\n"},
		"pharos.lock": {Content: "apiVersion: pharos.dev/v1alpha1\nkind: Lock\nimages:\n" +
			"  " + f.host + "/dev/web:1.26-bookworm: " + string(tools.Digest) + "\n" +
			"  " + f.host + "/debian:bookworm-slim: " + f.busybox(f.host+"/debian:bookworm-slim") + "\n"},
	}
	full, err := source.FromFiles(files)
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
	if len(states[0].Bases) != 2 {
		t.Errorf("the bases are %q", states[0].Bases)
	}
	r := lifecycle.BuildRequest{State: states[0], Full: full, Repository: f.host + "/dev/web"}
	program := f.content(f.build(r))["app/render"]
	if d := cmp.Diff("mod\nsum\ndraw\n"+files["services/render/Dockerfile"].Content+"main\n", program); d != "" {
		t.Error(d)
	}
}
