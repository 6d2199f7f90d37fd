package lease_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
)

// Everything that is wrong with a configuration is said at once.
func ExampleNew() {
	_, err := lease.New(lease.Config{
		REST:      &rest.Config{Host: "https://cluster.example"},
		Namespace: "pharos",
		Target:    "devbox",
		Deliver:   lease.Timing{Duration: 20 * time.Second, RenewEvery: 10 * time.Second},
		Grace:     100 * time.Millisecond,
	})
	fmt.Println(errors.Is(err, lease.ErrInvalid))
	fmt.Println(err)
	// Output:
	// true
	// lease: invalid Config: Grace is 100ms, want at least 1s
	// Deliver.Duration is 20s, want at least 24s: RenewEvery, twice the RequestTimeout, RetryPeriod and Margin
}

// A HeldError tells a person who is in the way, and until when.
func ExampleHeldError() {
	now := time.Date(2026, 3, 4, 14, 0, 0, 0, time.UTC)
	var err error = &lease.HeldError{
		Target: "devbox",
		State: lease.State{
			Held: true, Mode: lease.ModeBorrow, User: "ann@laptop", Purpose: "debug the checkout",
			Expires: now.Add(17 * time.Minute), Token: 12,
		},
		Now: now,
	}
	fmt.Println(err)
	// Output:
	// the lease of target "devbox" is held by ann@laptop in mode borrow until 2026-03-04T14:17:00Z (17m0s left): debug the checkout
}

// A writer checks right before each write, and stops when the lease is lost.
func Example() {
	write := func(ctx context.Context, m *lease.Manager, objects []string, apply func(context.Context, string) error) error {
		held, err := m.Acquire(ctx, lease.Request{Mode: lease.ModeDeliver, User: "ann@laptop", Wait: time.Minute})
		if err != nil {
			return err // a *lease.HeldError if somebody else holds it
		}
		lost, stop := held.Keep(ctx)
		defer func() {
			stop()
			// ctx may be over, but the lease is still to be given back.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := held.Release(ctx); err != nil {
				fmt.Println("it ends by itself:", err)
			}
		}()
		for _, o := range objects {
			select {
			case err := <-lost:
				return err
			default:
			}
			if err := held.Check(ctx); err != nil {
				return err
			}
			if err := apply(ctx, o); err != nil {
				return err
			}
		}
		return nil
	}
	_ = write
}
