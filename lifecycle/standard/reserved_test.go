package standard_test

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// TestReserved has an object without a namespace belong where the deliverer puts
// it, which need not be where the records are.
func TestReserved(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		records, object string
		want            bool
	}{
		{"pharos", "pharos", true},
		{"pharos", "shop", false},
		{"pharos", "", false},
		{"default", "", true},
		{"default", "default", true},
	} {
		target := standard.Target{Name: "dev", Namespace: tc.records, Overlay: "gitops"}
		target.Registry.Push = "registry.example.com/shop"
		c, err := standard.Config(target, standard.Options{REST: &rest.Config{Host: "https://127.0.0.1:1"}, Env: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		o := receipt.Object{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: tc.object, Name: "pharos-dashboard"}
		if got := c.Reserved(o); got != tc.want {
			t.Errorf("records in %q: ConfigMap %q/pharos-dashboard is reserved: %v, want %v", tc.records, tc.object, got, tc.want)
		}
	}
}
