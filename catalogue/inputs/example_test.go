package inputs_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pharos-dev/pharos/catalogue/inputs"
	"github.com/pharos-dev/pharos/catalogue/source"
)

func ExampleCheck() {
	tree, err := source.FromFiles(map[string]source.File{
		"pharos.yaml": {Content: `
apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: web
  build: {dockerfile: {path: web/Dockerfile}}
  inputs: [web/Dockerfile, web/src, docs]
`},
		"web/Dockerfile":   {Content: "FROM scratch\nCOPY web/src web/public /srv/\n"},
		"web/src/app.js":   {Content: "…"},
		"web/public/a.png": {Content: "…"},
		"docs/guide.txt":   {Content: "…"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	findings, err := inputs.Check(context.Background(), tree, inputs.Config{Env: os.Environ()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	// Output:
	// image web: web/public/a.png is taken by web/Dockerfile:2, which fails without it, and is not among the inputs: add "web/public" to them
	// image web: inputs: of "docs" (1 file) nothing is read by web/Dockerfile, so its changes build the image again for nothing: remove it
}
