package kube_test

import (
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
)

// A store knows which target it is for before it makes any call.
func ExampleNew() {
	store, err := kube.New(kube.Config{
		REST:      &rest.Config{Host: "https://cluster.example"},
		Namespace: "pharos",
		Target:    "devbox",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var _ receipt.Store = store

	_, err = kube.New(kube.Config{REST: &rest.Config{}, Namespace: "pharos", Target: "dev.box"})
	fmt.Println(err)
	// Output: receipt store: Config.Target "dev.box": must not contain dots
}
