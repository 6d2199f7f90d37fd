package main

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// Workloads are offered in the form that was begun, once, and never by a name that is of
// several.
func TestWorkloadNames(t *testing.T) {
	t.Parallel()
	all := []types.NamespacedName{{Namespace: "shop", Name: "stock"}, {Namespace: "shop", Name: "orders"}, {Namespace: "blue", Name: "web"}, {Namespace: "green", Name: "web"}}
	for _, test := range []struct {
		begun string
		args  []string
		want  []string
	}{
		{"", nil, []string{"stock", "shop/stock", "orders", "shop/orders", "blue/web", "green/web"}},
		{"st", nil, []string{"stock"}},
		{"shop/", nil, []string{"shop/stock", "shop/orders"}},
		{"shop/o", nil, []string{"shop/orders"}},
		{"deploy/", nil, []string{"deploy/stock", "deploy/orders"}},
		{"deployment/s", nil, []string{"deployment/stock"}},
		{"w", nil, nil},
		{"s", []string{"deploy/stock"}, []string{"shop/orders"}},
		{"bl", []string{"shop/orders"}, []string{"blue/web"}},
	} {
		if got := workloadNames(all, test.args, test.begun); !slices.Equal(got, test.want) {
			t.Errorf("%q after %q: %q, want %q", test.begun, test.args, got, test.want)
		}
	}
}
