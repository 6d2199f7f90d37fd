package restore_test

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// What a controller does for a target, and what a person does once.
func ExampleNew() {
	config := &rest.Config{Host: "https://cluster.example"}
	leases, err := lease.New(lease.Config{REST: config, Namespace: "pharos", Target: "devbox"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := restore.New(restore.Config{REST: config, Namespace: "pharos", Target: "devbox", Lease: leases, By: "ann@desk"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = r.Watch   // (ctx, restore.WatchConfig{}): until ctx ends
	_ = r.Restore // (ctx, restore.Request{Force: true, Reason: "his laptop is gone"})

	_, err = restore.New(restore.Config{})
	fmt.Println(errors.Is(err, restore.ErrInvalid))
	// Output: true
}
