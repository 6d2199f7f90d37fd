package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// calls is what a coalescer calls: each call waits for its turn to end.
type calls struct {
	began int
	end   chan error
}

func (c *calls) call(ctx context.Context) error {
	c.began++
	select {
	case err := <-c.end:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Many callers at once share one call, but not one that began before.
func TestCoalesce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c coalescer
		target := &calls{end: make(chan error)}
		results := make(chan error, 100)
		ask := func(n int) {
			for range n {
				go func() { results <- c.do(t.Context(), target.call) }()
			}
			synctest.Wait()
		}
		ask(1)
		if target.began != 1 {
			t.Fatalf("%d calls began, want 1", target.began)
		}
		ask(20) // the first call is under way: too late to share it
		if target.began != 1 {
			t.Fatalf("%d calls began, want 1 at a time", target.began)
		}
		first := errors.New("first")
		target.end <- first
		synctest.Wait()
		if err := <-results; err != first {
			t.Errorf("the first caller got %v", err)
		}
		if target.began != 2 || len(results) != 0 {
			t.Fatalf("%d calls began and %d callers returned, want 2 and 0", target.began, len(results))
		}
		ask(5)
		target.end <- nil
		synctest.Wait()
		if len(results) != 20 || target.began != 3 {
			t.Fatalf("%d callers returned and %d calls began, want 20 and 3", len(results), target.began)
		}
		for range 20 {
			if err := <-results; err != nil {
				t.Errorf("got %v, want the second call's nil", err)
			}
		}
		last := errors.New("last")
		target.end <- last
		synctest.Wait()
		for range 5 {
			if err := <-results; err != last {
				t.Errorf("got %v, want the third call's error", err)
			}
		}
		if c.next != nil || c.running != nil {
			t.Error("something is left")
		}
	})
}

// A caller that gives up does not take those with it that share its call.
func TestCoalesceAbandoned(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"while it waits for the call before", "while it makes the call", "while it shares another's"} {
		synctest.Test(t, func(t *testing.T) {
			var c coalescer
			target := &calls{end: make(chan error)}
			ctx, cancel := context.WithCancel(t.Context())
			leader, others := make(chan error, 1), make(chan error, 10)
			ask := func(ctx context.Context, to chan error) {
				go func() { to <- c.do(ctx, target.call) }()
				synctest.Wait()
			}
			if when != "while it makes the call" {
				ask(t.Context(), others)
			}
			if when == "while it shares another's" {
				ask(t.Context(), others)
			}
			ask(ctx, leader)
			for range 3 {
				ask(t.Context(), others)
			}
			cancel()
			synctest.Wait()
			select {
			case err := <-leader:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: it got %v", when, err)
				}
			default:
				t.Errorf("%s: it still waits", when)
			}
			close(target.end)
			synctest.Wait()
			want := map[string]int{"while it waits for the call before": 4, "while it makes the call": 3, "while it shares another's": 5}[when]
			if len(others) != want {
				t.Errorf("%s: %d of %d others got an answer", when, len(others), want)
			}
			for range len(others) {
				if err := <-others; err != nil {
					t.Errorf("%s: another got %v", when, err)
				}
			}
			if target.began != 2 {
				t.Errorf("%s: %d calls began, want 2", when, target.began)
			}
			if c.next != nil || c.running != nil {
				t.Errorf("%s: something is left", when)
			}
		})
	}
}
