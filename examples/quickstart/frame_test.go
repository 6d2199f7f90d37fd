package main

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/examples/quickstart/shop"
	"github.com/pharos-dev/pharos/internal/devenv"
)

// TestClosing looks for what a repository of one's own needs of what is left up.
func TestClosing(t *testing.T) {
	t.Parallel()
	p := &place{dir: "/place", cluster: &devenv.Cluster{}, shop: shop.Options{Namespace: "shop", Push: "127.0.0.1:5000/shop", Git: "http://127.0.0.1:6000/shop.git"}}
	for _, test := range []struct {
		o    options
		want []string
	}{
		{options{}, []string{"quickstart --stay", "docs/pharos-yaml.md"}},
		{options{takeover: true}, []string{"--takeover --stay", "docs/takeover.md"}},
		{options{takeover: true, stay: true}, []string{
			"go build -o /place/kubectl-pharos ./kubectl-pharos", "export PATH=/place:$PATH", "kubectl pharos --repo /shop takeover --detach", "kubectl pharos --repo /shop handback",
			"services/stock/main.go. The story's own edit is still there, and is not committed", "kubectl get --raw /api/v1/namespaces/shop/services/http:stock:80/proxy/stock",
		}},
		{options{stay: true}, []string{"The registry is 127.0.0.1:5000/shop", "http://127.0.0.1:6000/shop.git", "--repo /shop reconcile", "which removes it"}},
	} {
		var out strings.Builder
		(&narrator{w: &out}).closing(p, "/shop", test.o)
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%+v: %q is missing in\n%s", test.o, want, out.String())
			}
		}
		if strings.Contains(out.String(), "go run ./kubectl-pharos") {
			t.Errorf("%+v: every command would be compiled anew\n%s", test.o, out.String())
		}
	}
}
