package render_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// A commit's overlay becomes objects that name their images by digest.
func ExampleRenderer_Render() {
	tree, _ := treeOf(map[string]string{ // stands for a commit's tree
		"gitops/overlays/dev/kustomization.yaml": "namespace: shop\nresources: [../../base]\n",
		"gitops/base/kustomization.yaml":         "resources: [pod.yaml]\n",
		"gitops/base/pod.yaml":                   "apiVersion: v1\nkind: Pod\nmetadata: {name: api}\nspec: {containers: [{name: api, image: api}, {name: proxy, image: envoy:1}]}\n",
	})
	rendering, err := render.New().Render(context.Background(), lifecycle.RenderRequest{
		Tree:    tree,
		Overlay: "gitops/overlays/dev",
		Images: []lifecycle.ImageRef{{
			Name: "api", Repository: "localhost:5000/dev/api",
			Digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		}},
		Labels: map[string]string{"pharos.dev/target": "dev"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range rendering.Objects {
		fmt.Println(string(o.JSON))
	}
	for _, f := range rendering.Findings {
		fmt.Println(f.Subject+":", f.Message)
	}
	// Output:
	// {"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"pharos.dev/target":"dev"},"name":"api","namespace":"shop"},"spec":{"containers":[{"image":"localhost:5000/dev/api@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","name":"api"},{"image":"envoy:1","name":"proxy"}]}}
	// Pod shop/api: container proxy uses "envoy:1", which may be another image tomorrow: name it by its digest
}

// Everything that is wrong with a commit is reported at once.
func ExampleProblem() {
	tree, _ := treeOf(map[string]string{
		"dev/kustomization.yaml": "resources:\n- https://example.org/base\n- deployment.yaml\n",
	})
	_, err := render.New().Render(context.Background(), lifecycle.RenderRequest{Tree: tree, Overlay: "dev"})
	fmt.Println(err)
	fmt.Println(errors.Is(err, render.ErrRemote), errors.Is(err, lifecycle.ErrSource))
	// Output:
	// render overlay dev: dev/kustomization.yaml:2: resources[0]: "https://example.org/base": it is not in the commit, and nothing is fetched
	// dev/kustomization.yaml:3: resources[1]: "deployment.yaml": dev/deployment.yaml: not found
	// Copy what it names into the repository, at a version of your choice, and name that path. Commit the file, or correct the entry: only what is in the commit is rendered.
	// true true
}

// A rendering that was kept is used for another commit that changes nothing of it.
func ExampleWithCache() {
	files := map[string]string{
		"dev/kustomization.yaml": "resources: [pod.yaml]\n",
		"dev/pod.yaml":           "apiVersion: v1\nkind: Pod\nmetadata: {name: api}\nspec: {containers: []}\n",
	}
	renderer := render.New(render.WithCache(render.NewCache(render.CacheConfig{}))) // with Dir, other processes use it too
	for _, readme := range []string{"one", "two"} {
		files["README.md"] = readme
		tree, objects := treeOf(files)
		rendering, err := renderer.Render(context.Background(), lifecycle.RenderRequest{Tree: tree, Overlay: "dev"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(rendering.Objects), "object,", len(objects.reads), "files were read")
	}
	// Output:
	// 1 object, 2 files were read
	// 1 object, 0 files were read
}
