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

// A person borrows what they work on, and hands it back. Whatever happens to the
// process, the target returns by itself.
func Example_borrow() {
	borrow := func(ctx context.Context, config lease.Config, gate lease.Gate, work func(context.Context) error) error {
		config.Gate = gate // such as that of package lease/argocd
		m, err := lease.New(config)
		if err != nil {
			return err
		}
		held, err := m.Acquire(ctx, lease.Request{
			Mode: lease.ModeBorrow, User: "ann@laptop", Purpose: "debug the checkout",
			Covers: []string{"checkout"}, Wait: time.Minute, // until a sync that runs has ended
		})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		lost, stop := held.Keep(ctx)
		go func() { cancel(<-lost) }() // who broke it and why, or that the gate was opened
		err = errors.Join(work(ctx), context.Cause(ctx))
		stop()

		ctx, cancelBack := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancelBack()
		report, oerr := held.Open(ctx)
		for _, p := range report.Pending {
			fmt.Printf("%s has yet to come back: %s\n", p.Name, p.Reason)
		}
		return errors.Join(err, oerr, held.Release(ctx))
	}
	_ = borrow
}

// A holder learns who broke its lease, and why.
func ExampleLostError() {
	broken := &lease.Broken{
		By: "bob@desk", Reason: "a hotfix has to go out", At: time.Date(2026, 3, 4, 14, 0, 0, 0, time.UTC),
		Holder: "HOLDER", User: "ann@laptop", Token: 12,
	}
	var err error = &lease.LostError{Target: "devbox", Reason: broken.String(), State: lease.State{Token: 12, Broken: broken}}
	fmt.Println(errors.Is(err, lease.ErrLost))
	fmt.Println(err)
	// Output:
	// true
	// the lease of target "devbox" is lost: bob@desk broke it at 2026-03-04T14:00:00Z: a hotfix has to go out
}
