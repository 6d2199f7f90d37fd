package argocd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/lifecycle/deliver/argocd"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// A root whose overlay declares one Application: both are pointed at the commit,
// and the image's digest goes to the one that uses it.
func ExampleRenderer_Render() {
	tree, err := treeOf(map[string]string{ // stands for a commit's tree
		"gitops/root/kustomization.yaml": "resources: [api.yaml]\n",
		"gitops/root/api.yaml": `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: api, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.com/shop.git", targetRevision: main, path: gitops/api}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
`,
		"gitops/api/kustomization.yaml": "namespace: shop\nresources: [pod.yaml]\n",
		"gitops/api/pod.yaml":           "apiVersion: v1\nkind: Pod\nmetadata: {name: api}\nspec: {containers: [{name: api, image: api}]}\n",
	})
	if err != nil {
		log.Fatal(err)
	}
	layout := argocd.Layout{Repository: "https://git.example.com/shop", Overlay: "gitops/root", Root: "devbox"}
	renderer, err := argocd.NewRenderer(layout, render.New())
	if err != nil {
		log.Fatal(err)
	}
	rendering, err := renderer.Render(context.Background(), lifecycle.RenderRequest{
		Tree: tree, Commit: "1f0c5d3a9b7e4286a1c0d9e8f7b6a5c4d3e2f101", Overlay: layout.Overlay,
		Images: []lifecycle.ImageRef{{Name: "api", Repository: "registry.example.com/api", Digest: lifecycle.Digest("sha256:" + strings.Repeat("1", 64))}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range rendering.Objects {
		var content struct {
			Spec struct {
				Source struct {
					TargetRevision string `json:"targetRevision"`
					Kustomize      struct {
						Images  []string `json:"images"`
						Patches []any    `json:"patches"`
					} `json:"kustomize"`
				} `json:"source"`
			} `json:"spec"`
		}
		if err := json.Unmarshal(o.JSON, &content); err != nil {
			log.Fatal(err)
		}
		s := content.Spec.Source
		fmt.Printf("%s %s/%s %.8s images: %.30s patches: %d\n", o.Kind, o.Namespace, o.Name, s.TargetRevision, strings.Join(s.Kustomize.Images, ","), len(s.Kustomize.Patches))
	}
	// Output:
	// Pod shop/api  images:  patches: 0
	// Application argocd/api 1f0c5d3a images: api=registry.example.com/api@s patches: 0
	// Application argocd/devbox 1f0c5d3a images:  patches: 1
}

func ExampleNew() {
	config := &rest.Config{Host: "https://127.0.0.1:6443"}
	objects, err := apply.New(apply.Config{RESTConfig: config})
	if err != nil {
		log.Fatal(err)
	}
	_, err = argocd.New(argocd.Config{RESTConfig: config, Objects: objects, Layout: argocd.Layout{Repository: "https://git.example.com/shop.git"}})
	fmt.Println(err)
	// Output:
	// argocd: exactly one of Layout.Root and Layout.Applications must be set
}
