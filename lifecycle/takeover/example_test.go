package takeover_test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/receipt"
)

func ExampleSelect() {
	api := catalogue.Image{Name: "api", Run: &catalogue.Run{Command: []string{"npm", "run", "dev"}}}
	object := receipt.Object{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "api", Hash: "sha256:…"}
	doc := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","namespace":"shop","labels":{"pharos.dev/target":"devbox"}},
		"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.example/api@sha256:` + strings.Repeat("d", 64) + `"}]}}},
		"status":{"replicas":1,"updatedReplicas":1}}`
	plan := takeover.Select(takeover.Facts{
		Target: "devbox", Applied: "sha256:3f2a", Live: "sha256:3f2a",
		Record: &receipt.Record{
			Images:  []receipt.Image{{Name: "api", Fingerprint: "sha256:old", Repository: "registry.example/api", Digest: "sha256:" + strings.Repeat("d", 64)}},
			Objects: []receipt.Object{object},
		},
		Images:       []catalogue.Image{api},
		States:       []catalogue.State{{Image: api, Fingerprint: "sha256:new"}},
		Declared:     []takeover.Declared{{Object: object, By: "Application argocd/shop", JSON: []byte(doc)}},
		Deployments:  map[types.NamespacedName][]byte{{Namespace: "shop", Name: "api"}: []byte(doc)},
		Applications: map[string]takeover.Healer{"Application argocd/shop": {Name: "Application argocd/shop"}},
	})
	for _, w := range plan.Workloads {
		fmt.Println(w.Subject(), "container", w.Container, "runs", w.Command)
	}
	fmt.Println("the lease covers", plan.Covers, plan.Err())
	// Output:
	// Deployment shop/api container main runs [npm run dev]
	// the lease covers [shop] <nil>
}
