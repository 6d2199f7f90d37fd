package inventory_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/reaper"
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

// Samples keep what looks counted, so that a later one tells of trends.
func ExampleSamples() {
	record := func(ctx context.Context, i *inventory.Inventory, s *inventory.Samples) error {
		before, err := s.Load(ctx)
		if err != nil {
			return err
		}
		report, err := i.Take(ctx, inventory.Request{Namespaces: []string{"shop"}, Samples: before})
		if err != nil {
			return err
		}
		for _, g := range report.Transient {
			if g.Trend != nil && g.Trend.Climbing {
				fmt.Printf("%s: %d, and %g more an hour\n", g.Resource, g.Count, g.Trend.PerHour)
			}
		}
		return s.Add(ctx, report.Sample())
	}
	_ = record

	sample := inventory.Report{Namespaces: []string{"shop"}, Transient: []inventory.Group{{Resource: "pods", Count: 7}}}.Sample()
	fmt.Println(sample.Scope, sample.Counts)
	// Output: shop map[pods:7]
}

// Own says whom to ask about an object, and takes it from nobody.
func ExampleInventory_Own() {
	own := func(ctx context.Context, i *inventory.Inventory) error {
		claim := reaper.Ref{Version: "v1", Resource: "persistentvolumeclaims", Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}
		before, err := i.Own(ctx, claim, "ann@example.org", inventory.Ownership{})
		if errors.Is(err, inventory.ErrOwned) {
			fmt.Println("ask there first:", before)
		}
		return err
	}
	_ = own
}
