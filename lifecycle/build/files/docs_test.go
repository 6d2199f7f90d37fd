package files_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// The example of the page is built as the page says.
func TestPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	page, err := os.ReadFile("../../../docs/build-files.md")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := source.FromFiles(map[string]source.File{
		"pharos.yaml":            {Content: string(yamlBlock.FindSubmatch(page)[1])},
		"site/public/index.html": {Content: "<h1>Shop</h1>\n"},
		"plugins/filter.wasm":    {Content: module},
		"plugins/other.wasm":     {Content: module},
		"config/app.yaml":        {Content: "a: 1\n"},
		"config/local/app.yaml":  {Content: "a: 2\n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Load(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	artifacts := map[string]any{}
	for _, state := range states {
		r := lifecycle.BuildRequest{State: state, Full: tree, Repository: f.host + "/dev/" + state.Image.Name}
		list, _ := images(t, pulled(t, r, f.build(r)))
		artifacts[state.Image.Name] = manifestOf(t, list[0])["artifactType"]
	}
	for name, want := range map[string]any{"site": nil, "filter": "application/wasm", "config": "application/vnd.example.config.v1.tar+gzip"} {
		if got, built := artifacts[name]; !built || got != want {
			t.Errorf("%s is an artifact of the type %v, want %v", name, got, want)
		}
	}
}
