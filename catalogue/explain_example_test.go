package catalogue_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pharos-dev/pharos/catalogue"
)

func ExampleExplain() {
	ctx := context.Background()
	before, err := catalogue.SideOf(ctx, tree("hello\n"))
	if err != nil {
		log.Fatal(err)
	}
	after, err := catalogue.SideOf(ctx, tree("jello\n"))
	if err != nil {
		log.Fatal(err)
	}
	x, err := catalogue.Explain(ctx, "site", before, after, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.Image, "changed:", x.Changed)
	for _, reason := range x.Reasons {
		fmt.Println(reason)
	}
	// Output:
	// site changed: true
	// site/public/index.html was modified
}
