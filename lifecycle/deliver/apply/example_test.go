package apply_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/receipt"
)

// A Deliverer makes no request before it is used.
func ExampleNew() {
	d, err := apply.New(apply.Config{
		RESTConfig:       &rest.Config{Host: "https://cluster.example"},
		DefaultNamespace: "shop",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var _ lifecycle.Deliverer = d

	_, err = apply.New(apply.Config{RESTConfig: &rest.Config{}, RetryFor: -time.Second})
	fmt.Println(err)
	// Output: apply: Concurrency (0), RequestTimeout (0s) and RetryFor (-1s) must not be negative
}

// A delivery resolves the objects, applies them, and waits for their health.
func ExampleDeliverer() {
	deliver := func(ctx context.Context, d *apply.Deliverer, objects []lifecycle.Object, guard func(context.Context) error) error {
		resolved, err := d.Resolve(ctx, objects)
		if err != nil {
			return err // every kind that the cluster does not know
		}
		_, err = d.Deliver(ctx, lifecycle.DeliverRequest{
			Objects: objects, Resolved: resolved, Target: "devbox", Guard: guard,
			Progress: func(c lifecycle.Change) { fmt.Println(c.Type, lifecycle.ObjectName(c.Object)) },
		})
		var conflict *lifecycle.ConflictError
		if errors.As(err, &conflict) {
			for _, c := range conflict.Conflicts {
				fmt.Printf("%s: %s belongs to %s\n", c.Object, c.Field, c.Owner)
			}
		}
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		_, err = d.Wait(ctx, lifecycle.ObserveRequest{Target: "devbox", Objects: resolved})
		return err // a *lifecycle.UnhealthyError names what is not healthy, and why
	}
	_ = deliver
}

// What a delivery would change, object by object.
func ExampleDeliverer_Compare() {
	show := func(ctx context.Context, d *apply.Deliverer, objects []lifecycle.Object) error {
		resolved, err := d.Resolve(ctx, objects)
		if err != nil {
			return err
		}
		list, err := d.Compare(ctx, lifecycle.DeliverRequest{Objects: objects, Resolved: resolved, Target: "devbox"})
		for _, c := range list {
			fmt.Println(c.Type, lifecycle.ObjectName(c.Object), len(c.Live), len(c.Merged))
		}
		return err // conflicts, and objects that the server refuses
	}
	_ = show
}

// A migration that runs once for each content: it is told which Jobs completed
// before, and tells which did now.
func ExampleDeliverer_Wait() {
	deliver := func(ctx context.Context, d *apply.Deliverer, r lifecycle.DeliverRequest, recorded []receipt.Object) ([]receipt.Object, error) {
		r.Completed = recorded
		done, err := d.Deliver(ctx, r)
		if err != nil {
			return nil, err
		}
		seen, err := d.Wait(ctx, lifecycle.ObserveRequest{
			Target: r.Target, Objects: r.Resolved, Seen: done.Seen, Completed: done.Completed,
		})
		return seen.Completed, err // to be recorded, whatever the error
	}
	_ = deliver
}
