package receipttest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pharos-dev/pharos/receipt"
)

// TestStore runs the suite. newStore returns a new, empty store for the target
// named Target, and registers what removes it with t.Cleanup. Subtests run in
// parallel, so newStore is called by several goroutines at once.
func TestStore(t *testing.T, newStore func(t *testing.T) receipt.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, receipt.Store)
	}{
		{"PutAndGet", testPutAndGet},
		{"PutTwice", testPutTwice},
		{"PutTogether", testPutTogether},
		{"PutLarge", testPutLarge},
		{"PutRefuses", testPutRefuses},
		{"Whole", testWhole},
		{"UnknownIDs", testUnknownIDs},
		{"List", testList},
		{"Outcomes", testOutcomes},
		{"OutcomesTogether", testOutcomesTogether},
		{"OutcomeRefuses", testOutcomeRefuses},
		{"OutcomeLarge", testOutcomeLarge},
		{"Delete", testDelete},
		{"DeleteInUse", testDeleteInUse},
		{"DeleteTogether", testDeleteTogether},
		{"Pointers", testPointers},
		{"PointersConflict", testPointersConflict},
		{"PointersRace", testPointersRace},
		{"PointersRefuse", testPointersRefuse},
		{"ContextEnded", testContextEnded},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newStore(t))
		})
	}
}

// same compares what was read with what was written; a list that is empty and
// one that is missing are the same record.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func put(t *testing.T, s receipt.Store, r receipt.Record) receipt.ID {
	t.Helper()
	id, err := s.Put(t.Context(), r)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return id
}

func list(t *testing.T, s receipt.Store) []receipt.Summary {
	t.Helper()
	l, err := s.List(t.Context())
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	return l
}

func outcomes(t *testing.T, s receipt.Store, id receipt.ID) []receipt.Outcome {
	t.Helper()
	l, err := s.Outcomes(t.Context(), id)
	if err != nil {
		t.Fatalf("Outcomes: %v", err)
	}
	return l
}

func add(t *testing.T, s receipt.Store, id receipt.ID, o receipt.Outcome) {
	t.Helper()
	if err := s.AddOutcome(t.Context(), id, o); err != nil {
		t.Fatalf("AddOutcome: %v", err)
	}
}

// together runs f n times at once and returns the errors.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func testContextEnded(t *testing.T, s receipt.Store) {
	id := put(t, s, record(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"Put":        func() error { _, err := s.Put(ctx, record(2)); return err },
		"Get":        func() error { _, err := s.Get(ctx, id); return err },
		"List":       func() error { _, err := s.List(ctx); return err },
		"AddOutcome": func() error { return s.AddOutcome(ctx, id, outcome(1)) },
		"Delete":     func() error { return s.Delete(ctx, id) },
		"Outcomes":   func() error { _, err := s.Outcomes(ctx, id); return err },
		"Pointers":   func() error { _, err := s.Pointers(ctx); return err },
		"SetPointers": func() error {
			_, err := s.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id})
			return err
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that is over: %v, want context.Canceled", name, err)
		}
	}
	if l := list(t, s); len(l) != 1 || l[0].Last != nil {
		t.Errorf("the store changed: %v", l)
	}
	if p, err := s.Pointers(t.Context()); err != nil || p.Applied != "" {
		t.Errorf("the pointers changed: %v, %v", p, err)
	}
}

func testUnknownIDs(t *testing.T, s receipt.Store) {
	put(t, s, record(1))
	for _, id := range append(notIDs, receipt.ID(digestOf("unknown"))) {
		short := id[:min(len(id), 80)]
		if r, err := s.Get(t.Context(), id); !errors.Is(err, receipt.ErrNotFound) {
			t.Errorf("Get(%q): %v, %v, want ErrNotFound", short, r, err)
		}
		if err := s.AddOutcome(t.Context(), id, outcome(1)); !errors.Is(err, receipt.ErrNotFound) {
			t.Errorf("AddOutcome(%q): %v, want ErrNotFound", short, err)
		}
		if o, err := s.Outcomes(t.Context(), id); err != nil || len(o) != 0 {
			t.Errorf("Outcomes(%q): %v, %v, want none", short, o, err)
		}
	}
	if l := list(t, s); len(l) != 1 || l[0].Last != nil {
		t.Errorf("the store changed: %v", l)
	}
}

func testPutRefuses(t *testing.T, s receipt.Store) {
	huge := full()
	huge.Images[0].Preimage[0].Value = strings.Repeat("x", receipt.MaxSize)
	for name, tc := range map[string]struct {
		record receipt.Record
		want   error
	}{
		"zero":         {receipt.Record{}, receipt.ErrInvalid},
		"other target": {change(func(r *receipt.Record) { r.Target.Name = Target + "-2" }), receipt.ErrInvalid},
		"order":        {change(func(r *receipt.Record) { r.Reads = []string{"b", "a"} }), receipt.ErrInvalid},
		"path":         {change(func(r *receipt.Record) { r.Reads = []string{"../../x"} }), receipt.ErrInvalid},
		"not UTF-8":    {change(func(r *receipt.Record) { r.Images[0].Name = "\xff" }), receipt.ErrInvalid},
		"parent":       {change(func(r *receipt.Record) { r.Parent = "../x" }), receipt.ErrInvalid},
		"huge":         {huge, receipt.ErrTooLarge},
	} {
		if id, err := s.Put(t.Context(), tc.record); !errors.Is(err, tc.want) || id != "" {
			t.Errorf("%s: Put: %q, %v, want %v", name, id, err, tc.want)
		}
	}
	if l := list(t, s); len(l) != 0 {
		t.Errorf("the store holds %v", l)
	}
}

// change returns the full record, changed.
func change(f func(*receipt.Record)) receipt.Record {
	r := full()
	f(&r)
	return r
}
