package receipttest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/receipt"
)

func testOutcomes(t *testing.T, s receipt.Store) {
	id, other := put(t, s, record(1)), put(t, s, record(2))
	if o := outcomes(t, s, id); len(o) != 0 {
		t.Fatalf("a new receipt has outcomes: %v", o)
	}
	var want []receipt.Outcome
	// Neither their times nor their names say in which order they are added.
	for _, n := range []int{3, 1, 4, 15, 9, 2, 6} {
		add(t, s, id, outcome(n))
		want = append(want, outcome(n))
	}
	elsewhere := live(2)
	elsewhere.Time = began.In(time.FixedZone("elsewhere", -7*60*60))
	add(t, s, id, elsewhere)
	want = append(want, live(2))
	for _, o := range []receipt.Outcome{applications(1), completed(2)} {
		add(t, s, id, o)
		add(t, s, id, o) // is there already
		want = append(want, o)
	}

	add(t, s, id, outcome(4)) // is there already
	add(t, s, other, outcome(1))

	same(t, "outcomes", want, outcomes(t, s, id))
	same(t, "outcomes of the other receipt", []receipt.Outcome{outcome(1)}, outcomes(t, s, other))
}

func testOutcomesTogether(t *testing.T, s receipt.Store) {
	const writers = 16
	id := put(t, s, record(1))
	for i, err := range together(writers, func(i int) error {
		return errors.Join(s.AddOutcome(t.Context(), id, outcome(i)), s.AddOutcome(t.Context(), id, live(1)))
	}) {
		if err != nil {
			t.Errorf("writer %d: AddOutcome: %v", i, err)
		}
	}
	got := outcomes(t, s, id)
	seen := map[string]int{}
	for _, o := range got {
		seen[o.Operation]++
	}
	if len(got) != writers+1 || len(seen) != writers+1 {
		t.Errorf("%d outcomes, of %d operations, want %d", len(got), len(seen), writers+1)
	}
}

func testOutcomeRefuses(t *testing.T, s receipt.Store) {
	id := put(t, s, record(1))
	for name, f := range map[string]func(*receipt.Outcome){
		"zero":         func(o *receipt.Outcome) { *o = receipt.Outcome{} },
		"type":         func(o *receipt.Outcome) { o.Type = "fine" },
		"no time":      func(o *receipt.Outcome) { o.Time = time.Time{} },
		"late time":    func(o *receipt.Outcome) { o.Time = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"no operation": func(o *receipt.Outcome) { o.Operation = "" },
		"not UTF-8":    func(o *receipt.Outcome) { o.Reason = "\xff" },
		"object":       func(o *receipt.Outcome) { o.Objects[0].Owned = "md5:1" },
		"application":  func(o *receipt.Outcome) { o.Applications = []receipt.Application{{Namespace: "argocd"}} },
		"jobs":         func(o *receipt.Outcome) { o.Jobs = completed(1).Jobs },
	} {
		o := live(1)
		f(&o)
		if err := s.AddOutcome(t.Context(), id, o); !errors.Is(err, receipt.ErrInvalid) {
			t.Errorf("%s: AddOutcome: %v, want ErrInvalid", name, err)
		}
	}
	if o := outcomes(t, s, id); len(o) != 0 {
		t.Errorf("the store holds %v", o)
	}
}

func testOutcomeLarge(t *testing.T, s receipt.Store) {
	id := put(t, s, record(1))
	seen := live(5_000)
	failed := outcome(1)
	failed.Reason = strings.Repeat("the build failed: ünknown\n", 10_000)
	all := []receipt.Outcome{seen, applications(500), completed(500), failed}
	for _, o := range all {
		add(t, s, id, o)
	}
	same(t, "outcomes", all, outcomes(t, s, id))
	l := list(t, s)
	if len(l) != 1 || l[0].Last == nil {
		t.Fatalf("list: %v", l)
	}
	last := *l[0].Last
	if !strings.HasPrefix(last.Reason, failed.Reason[:1000]) {
		t.Errorf("the list's reason begins with %q", last.Reason[:min(len(last.Reason), 100)])
	}
	last.Reason = failed.Reason
	same(t, "the list's last outcome", failed, last)
}
