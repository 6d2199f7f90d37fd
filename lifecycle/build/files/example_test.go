package files_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/files"
	pharosregistry "github.com/pharos-dev/pharos/lifecycle/registry"
)

// A static site as an image, and what is in it.
func ExampleBuilder_Build() {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	images, err := pharosregistry.New(pharosregistry.Config{Insecure: true})
	if err != nil {
		log.Fatal(err)
	}
	builder, err := files.New(files.Config{Registry: images})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	tree, err := source.FromFiles(map[string]source.File{
		"site/public/index.html":   {Content: "<h1>Shop</h1>\n"},
		"site/public/css/main.css": {Content: "h1 {}\n"},
		"site/README.md":           {Content: "How to write a page.\n"},
		"pharos.yaml": {Content: `
apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: site
  build: {files: {from: site/public, root: /srv}}
  inputs: [site/public]
  platforms: [linux/amd64, linux/arm64]
`},
	})
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
	repository := strings.TrimPrefix(server.URL, "http://") + "/shop/site"
	result, err := builder.Build(ctx, lifecycle.BuildRequest{State: states[0], Full: tree, Repository: repository})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("built for", result.Platforms)

	image, err := images.Image(ctx, repository+"@"+string(result.Digest), "linux/arm64")
	if err != nil {
		log.Fatal(err)
	}
	content := mutate.Extract(image)
	defer content.Close()
	for archive := tar.NewReader(content); ; {
		file, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(file.FileInfo().Mode(), file.Name)
	}
	// Output:
	// built for [linux/amd64 linux/arm64]
	// drwxr-xr-x srv
	// drwxr-xr-x srv/css
	// -rw-r--r-- srv/css/main.css
	// -rw-r--r-- srv/index.html
}
