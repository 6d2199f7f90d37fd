package inventory_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/reaper/inventory"
)

// A look at the namespaces of a target, with what a receipt says.
func Example() {
	look := func(ctx context.Context, config *rest.Config, declared *inventory.Declaration) error {
		i, err := inventory.New(inventory.Config{REST: config, Target: "devbox"})
		if err != nil {
			return err
		}
		report, err := i.Take(ctx, inventory.Request{Namespaces: []string{"shop"}, Declared: declared})
		if err != nil {
			return err
		}
		for _, f := range report.Findings {
			fmt.Println(f.Problem, f.Resource, f.Message)
		}
		for _, gap := range report.Coverage {
			fmt.Println("not read:", gap.Resource, gap.Namespace, gap.Message)
		}
		return nil
	}
	_ = look

	// Of no namespace means none, not all.
	i, err := inventory.New(inventory.Config{REST: &rest.Config{Host: "https://cluster.example"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = i.Take(context.Background(), inventory.Request{})
	fmt.Println(err)
	// Output: inventory: exactly one of Request.Namespaces and AllNamespaces is to be set
}
