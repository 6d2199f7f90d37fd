package receipttest

import (
	"errors"
	"testing"

	"github.com/pharos-dev/pharos/receipt"
)

// testWhole wants a receipt that is read at once to be what is read apart.
func testWhole(t *testing.T, s receipt.Store) {
	first, id, bare := put(t, s, record(1)), put(t, s, full()), put(t, s, record(2))
	add(t, s, first, outcome(1))
	want := []receipt.Outcome{outcome(3), live(1), completed(2)}
	for _, o := range want {
		add(t, s, id, o)
	}
	w := receipt.ReadWhole(t.Context(), s, id)
	if w.RecordErr != nil || w.OutcomesErr != nil {
		t.Fatalf("ReadWhole: %v, %v", w.RecordErr, w.OutcomesErr)
	}
	same(t, "record", full(), w.Record)
	same(t, "outcomes", want, w.Outcomes)

	if w := receipt.ReadWhole(t.Context(), s, bare); w.RecordErr != nil || w.OutcomesErr != nil || len(w.Outcomes) != 0 {
		t.Errorf("ReadWhole without outcomes: %v, %v, %v", w.Outcomes, w.RecordErr, w.OutcomesErr)
	}
	for _, id := range append(notIDs, receipt.ID(digestOf("unknown"))) {
		w := receipt.ReadWhole(t.Context(), s, id)
		if !errors.Is(w.RecordErr, receipt.ErrNotFound) || w.OutcomesErr != nil || len(w.Outcomes) != 0 {
			t.Errorf("ReadWhole(%.80q), which is not there: %v, %v, %v", id, w.Outcomes, w.RecordErr, w.OutcomesErr)
		}
	}
}
