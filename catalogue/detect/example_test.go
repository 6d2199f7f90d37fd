package detect_test

import (
	"context"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/catalogue/source"
)

func ExampleDetect() {
	tree, err := source.FromFiles(map[string]source.File{
		"web/Dockerfile":   {Content: "FROM nginx:1.29\nCOPY web/public /usr/share/nginx/html\n"},
		"web/public/index": {Content: "…"},
		"README.md":        {Content: "…"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := detect.Detect(context.Background(), tree, detect.Options{Names: map[string]string{"web": "site"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\nto be locked: %s\n", found.YAML, found.Unlocked)
	// Output:
	// # Written by kubectl pharos init from what the repository holds. Comments say where each guess
	// # comes from: correct what is wrong, and see what kubectl pharos images --check says.
	// apiVersion: pharos.dev/v1alpha1
	// kind: Catalogue
	// images:
	// # Built by web/Dockerfile. Its name is as asked for.
	// - name: site
	//   build:
	//     dockerfile:
	//       path: web/Dockerfile
	//   # What its COPY and ADD lines take.
	//   inputs:
	//   - web
	// # A change of these is delivered: this file and pharos.lock.
	// delivery:
	// - pharos.*
	// # A change of these does nothing, where they are no image's inputs. What stands in neither list
	// # is delivered, with a hint.
	// neutral:
	// - "**/*.md"
	// # No kustomization was found, so nothing says what to deliver. Beside one, a document of kind
	// # Target says where to.
	//
	// to be locked: [nginx:1.29]
}
