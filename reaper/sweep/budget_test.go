package sweep

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBudgetLimitsTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, began := newBudget(10, 2), time.Now()
		for range 22 { // two at once without waiting, and then ten a second
			give, err := b.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			give()
		}
		if took := time.Since(began).Round(time.Millisecond); took != 2*time.Second {
			t.Errorf("22 ends took %s, want 2s", took)
		}
		free, began := newBudget(-1, 1), time.Now()
		for range 1000 {
			give, err := free.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			give()
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("1000 ends without a limit took %s", took)
		}
	})
}

func TestBudgetLimitsHowManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(-1, 2)
		var give [2]func()
		for i := range give {
			var err error
			if give[i], err = b.take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third one at once: %v", err)
		}
		give[0]()
		if _, err := b.take(t.Context()); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
	})
}

// Who gives up while waiting for the rate gives the slot back.
func TestBudgetIsNotLeaked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1.0/3600, 1)
		give, err := b.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		give()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.take(ctx); err == nil {
			t.Fatal("a second one within the hour")
		}
		if len(b.slots) != 0 {
			t.Errorf("%d slots are taken", len(b.slots))
		}
	})
}
