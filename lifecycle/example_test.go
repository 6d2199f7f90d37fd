package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
)

// deliver is what a program does around Reconcile.
func deliver(ctx context.Context, l *lifecycle.Lifecycle, commit source.Commit) error {
	res, err := l.Reconcile(ctx, lifecycle.ReconcileRequest{
		Commit:  commit,
		Timeout: 2 * time.Minute,
		Events:  func(e lifecycle.Event) { fmt.Println(e.Type) },
	})
	var blocked *lifecycle.BlockedError
	switch {
	case errors.As(err, &blocked):
		return fmt.Errorf("%s has it until %s: %w", blocked.Holder, blocked.Until, err)
	case errors.Is(err, lifecycle.ErrUnhealthy):
		return fmt.Errorf("receipt %s is applied, and not live: %w", res.Receipt, err)
	}
	return err
}

func ExampleLifecycle_Reconcile() {
	var l *lifecycle.Lifecycle // from standard.New, or from New with parts of your own
	var commit source.Commit   // from source.Repository.Commit
	fmt.Println(deliver(context.Background(), l, commit))
}

func ExampleBlockedError() {
	until := time.Date(2026, 5, 1, 12, 20, 0, 0, time.UTC)
	var err error = &lifecycle.BlockedError{
		Reason: "the lease of target \"devbox\" is held by ada@laptop", Holder: "ada@laptop",
		Mode: string(lease.ModeBorrow), Until: until, Next: "Ask ada@laptop to release it: kubectl pharos lease release",
	}
	var blocked *lifecycle.BlockedError
	if errors.Is(err, lifecycle.ErrBlocked) && errors.As(err, &blocked) {
		fmt.Println(blocked.Holder, "until", blocked.Until.Format(time.TimeOnly))
	}
	// Output: ada@laptop until 12:20:00
}

func ExampleNew() {
	_, err := lifecycle.New(lifecycle.Config{Target: "devbox", Overlay: "gitops/overlays/devbox", Push: "localhost:5000/dev"})
	fmt.Println(err)
	// Output:
	// lifecycle: Config.Cluster is required
	// lifecycle: Config.Receipts is required
	// lifecycle: Config.Lease is required
	// lifecycle: Config.Registry is required
	// lifecycle: Config.Renderer is required
	// lifecycle: Config.Deliverer is required
}

// rollBack is what a program does when what was just delivered is not good.
func rollBack(ctx context.Context, l *lifecycle.Lifecycle, repo lifecycle.Repository) error {
	to, err := l.ChooseRollback(ctx, "")
	if errors.Is(err, lifecycle.ErrNoRollback) {
		return fmt.Errorf("there is nothing to go back to: %w", err)
	}
	if err != nil {
		return err
	}
	_, err = l.Rollback(ctx, lifecycle.RollbackRequest{Receipt: to.ID, Repository: repo})
	return err
}

func ExampleLifecycle_Rollback() {
	var l *lifecycle.Lifecycle    // from standard.New
	var repo lifecycle.Repository // from source.Open
	fmt.Println(rollBack(context.Background(), l, repo))
}

// maintain runs work while nobody else delivers.
func maintain(ctx context.Context, l *lifecycle.Lifecycle, keep func(holder string) error, work func() error) error {
	holder := lease.NewHolder()
	if err := keep(holder); err != nil { // where it outlives this process
		return err
	}
	if _, err := l.StartMaintenance(ctx, lifecycle.MaintenanceRequest{Holder: holder, Reason: "move the database"}); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err // the target stays fenced
	}
	_, err := l.EndMaintenance(ctx, lifecycle.EndMaintenanceRequest{Holder: holder, Timeout: time.Minute})
	return err
}

func ExampleLifecycle_StartMaintenance() {
	var l *lifecycle.Lifecycle // from standard.New
	fmt.Println(maintain(context.Background(), l, func(string) error { return nil }, func() error { return nil }))
}
