package golang_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	pharosregistry "github.com/pharos-dev/pharos/lifecycle/registry"
)

// A program that needs a package which its image does not declare.
func ExampleBuilder_Build() {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(new(strings.Builder), "", 0))))
	defer server.Close()
	images, err := pharosregistry.New(pharosregistry.Config{Insecure: true})
	if err != nil {
		log.Fatal(err)
	}
	builder, err := golang.New(golang.Config{Registry: images, Env: os.Environ()})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	files := map[string]source.File{
		"go.mod":         {Content: "module example.com/shop\n\ngo 1.24\n"},
		"api/main.go":    {Content: "package main\n\nimport \"example.com/shop/money\"\n\nfunc main() { println(money.Zero) }\n"},
		"money/money.go": {Content: "package money\n\nconst Zero = 0\n"},
		"pharos.yaml": {Content: `
apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {go: {package: ./api}}
  inputs: [api, go.mod]
`},
	}
	for range 2 {
		tree, err := source.FromFiles(files)
		if err != nil {
			log.Fatal(err)
		}
		cat, err := catalogue.Load(ctx, tree)
		if err != nil {
			log.Fatal(err)
		}
		states, err := cat.States(ctx, tree)
		if err != nil {
			log.Fatal(err)
		}
		result, err := builder.Build(ctx, lifecycle.BuildRequest{
			State: states[0], Full: tree,
			Repository: strings.TrimPrefix(server.URL, "http://") + "/shop/api",
		})
		var failed *lifecycle.BuildError
		if errors.As(err, &failed) {
			fmt.Printf("add %q to the inputs of %s\n", failed.Missing[0].Pattern, failed.Image)
			pharosYAML := files["pharos.yaml"]
			pharosYAML.Content = strings.Replace(pharosYAML.Content, "[api,", "[api, money,", 1)
			files["pharos.yaml"] = pharosYAML
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("built for", result.Platforms)
	}
	// Output:
	// add "money" to the inputs of api
	// built for [linux/amd64]
}
