package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
)

// A renderer is told which images no object has to use.
func TestWhichImagesNeedNoUse(t *testing.T) {
	t.Parallel()
	named := func(name string, build catalogue.Build, on ...*image) *image {
		return &image{state: catalogue.State{Image: catalogue.Image{Name: name, Build: build}}, status: ImageStatus{Name: name}, on: on}
	}
	tools := named("tools", catalogue.Build{Dockerfile: &catalogue.DockerfileBuild{}})
	web := named("web", catalogue.Build{Dockerfile: &catalogue.DockerfileBuild{}}, tools)
	site := named("site", catalogue.Build{Files: &catalogue.FilesBuild{MediaType: "application/wasm"}})
	want := []ImageRef{{Name: "tools", Base: true}, {Name: "web"}, {Name: "site", Artifact: true}}
	if d := cmp.Diff(want, imageRefs([]*image{tools, web, site})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
