package dockerfile_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// A COPY of what the image does not declare is found before BuildKit is asked.
func ExampleBuilder_Build() {
	images, err := registry.New(registry.Config{})
	if err != nil {
		log.Fatal(err)
	}
	buildkit, err := dockerfile.NewAddress(dockerfile.AddressConfig{Address: "unix:///run/buildkit/buildkitd.sock"})
	if err != nil {
		log.Fatal(err)
	}
	builder, err := dockerfile.New(dockerfile.Config{Backend: buildkit, Registry: images})
	if err != nil {
		log.Fatal(err)
	}
	tree, err := source.FromFiles(map[string]source.File{
		"web/Dockerfile":   {Content: "FROM scratch\nCOPY web/src web/public /srv/\n"},
		"web/src/app.js":   {Content: "…"},
		"web/public/a.png": {Content: "…"},
		"pharos.yaml": {Content: `
apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: web
  build: {dockerfile: {path: web/Dockerfile}}
  inputs: [web/Dockerfile, web/src]
`},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	c, err := catalogue.Load(ctx, tree)
	if err != nil {
		log.Fatal(err)
	}
	states, err := c.States(ctx, tree)
	if err != nil {
		log.Fatal(err)
	}
	_, err = builder.Build(ctx, lifecycle.BuildRequest{State: states[0], Full: tree, Repository: "registry.example/shop/web"})
	if failed, ok := errors.AsType[*lifecycle.BuildError](err); ok {
		for _, m := range failed.Missing {
			fmt.Printf("%s: add %q to the inputs of %s\n", m.Path, m.Pattern, failed.Image)
		}
	}
	// Output:
	// web/public: add "web/public" to the inputs of web
}

// A backend of one's own is told what a buildctl command line says.
func ExampleSolve_Attributes() {
	s := dockerfile.Solve{
		Frontend:   "docker/dockerfile:1@sha256:…",
		Options:    map[string]string{"filename": "web/Dockerfile", "cmdline": "docker/dockerfile:1"},
		Repository: "registry.example/shop/web", Tag: "fp-…",
	}
	frontend, attributes := s.Attributes()
	fmt.Println("--frontend", frontend, "--opt source="+attributes["source"])
	fmt.Println("name =", s.Exporter("v0.34.2")["name"])
	// Output:
	// --frontend gateway.v0 --opt source=docker/dockerfile:1@sha256:…
	// name = registry.example/shop/web:fp-…
}
