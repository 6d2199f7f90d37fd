package catalogue_test

import (
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue"
)

func ExampleParse() {
	c, err := catalogue.Parse("pharos.yaml", []byte(`
apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {go: {package: ./services/api}}
  inputs: [services/api, libs, go.mod, go.sum]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, image := range c.Images {
		fmt.Println(image.Name, image.Build.Kind(), image.Inputs.Strings(), image.Platforms)
	}
	// Output: api go [services/api libs go.mod go.sum] [linux/amd64]
}

func ExampleParse_problems() {
	_, err := catalogue.Parse("pharos.yaml", []byte(`apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {go: {pakcage: ./services/api}}
  inputs: [services/api]
  platforms: [linux/x86_64]
`))
	if problems, ok := errors.AsType[*catalogue.ProblemsError](err); ok {
		for _, p := range problems.List {
			fmt.Printf("line %d, column %d, %s %s\n", p.Line, p.Column, p.Field, p.Message)
		}
	}
	// Output:
	// line 5, column 15, images[0].build.go.package is missing
	// line 5, column 16, images[0].build.go.pakcage is not known; did you mean "package"?
	// line 7, column 15, images[0].platforms[0] must be written linux/amd64
}
