package detect_test

import (
	"slices"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Images of plain files are nobody's program, so that only manifests name them.
func TestPlainFilesThatAManifestNames(t *testing.T) {
	t.Parallel()
	files := map[string]source.File{
		"gitops/kustomization.yaml": {Content: "resources: [pods.yaml]\n"},
		"gitops/pods.yaml": {Content: `
kind: Pod
spec:
  containers: [{image: api}, {image: "nginx:1"}, {image: "registry.example.com/site"}, {image: gitops}, {image: docs}]
  volumes: [{image: {reference: pages}}, {image: {reference: [odd]}}, {image: odd}, odd]
`},
		"api/Dockerfile":         {Content: "FROM scratch\n"},
		"web/pages/index.html":   {Content: "hello"},
		"web/pages/css/site.css": {},
		"site/index.html":        {},
		"docs/index.html":        {},
	}
	found := look(t, files, options(t))
	want := []string{"gitops/pods.yaml names the image pages, and nothing builds it: if it is of the files in web/pages, write an image with build: {files: {from: web/pages}} and inputs: [web/pages]"}
	got := slices.DeleteFunc(slices.Clone(found.Notes), func(note string) bool { return !slices.Contains(want, note) })
	if !slices.Equal(got, want) || len(found.Notes) != len(want) {
		t.Errorf("the notes are %q, want %q", found.Notes, want)
	}
	checkIts(t, files, found)
}
