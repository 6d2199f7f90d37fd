package receipttest

import (
	"errors"
	"testing"

	"github.com/pharos-dev/pharos/receipt"
)

func testDelete(t *testing.T, s receipt.Store) {
	ids := []receipt.ID{put(t, s, record(1)), put(t, s, record(2)), put(t, s, full())}
	for _, id := range ids {
		add(t, s, id, outcome(1))
		add(t, s, id, live(2))
	}
	for range 2 { // the second time it is not there
		if err := s.Delete(t.Context(), ids[1]); err != nil {
			t.Fatalf("Delete: %v", err)
		}
	}
	for _, id := range append(notIDs, receipt.ID(digestOf("unknown"))) {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Errorf("Delete(%.80q), which is not there: %v", id, err)
		}
	}
	if _, err := s.Get(t.Context(), ids[1]); !errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("Get of what was deleted: %v, want ErrNotFound", err)
	}
	if err := s.AddOutcome(t.Context(), ids[1], outcome(2)); !errors.Is(err, receipt.ErrNotFound) {
		t.Errorf("AddOutcome to what was deleted: %v, want ErrNotFound", err)
	}
	if o := outcomes(t, s, ids[1]); len(o) != 0 {
		t.Errorf("what was deleted has outcomes: %v", o)
	}
	if l := list(t, s); len(l) != 2 || l[0].ID != ids[2] || l[1].ID != ids[0] || l[1].Last == nil {
		t.Errorf("the list is %v", l)
	}
	for _, id := range []receipt.ID{ids[0], ids[2]} {
		same(t, "outcomes of what stays", []receipt.Outcome{outcome(1), live(2)}, outcomes(t, s, id))
	}

	// It can come again, and begins anew.
	if again := put(t, s, record(2)); again != ids[1] {
		t.Errorf("Put returned %s, want %s", again, ids[1])
	}
	if l := list(t, s); len(l) != 3 || l[0].ID != ids[1] || l[0].Last != nil {
		t.Errorf("the list is %v", l)
	}
	if o := outcomes(t, s, ids[1]); len(o) != 0 {
		t.Errorf("what was put again has outcomes: %v", o)
	}
}

func testDeleteInUse(t *testing.T, s receipt.Store) {
	applied, liveID, other := put(t, s, record(1)), put(t, s, record(2)), put(t, s, record(3))
	p, err := s.SetPointers(t.Context(), pointers(t, s), receipt.Pointers{Applied: applied, Live: liveID})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []receipt.ID{applied, liveID} {
		if err := s.Delete(t.Context(), id); !errors.Is(err, receipt.ErrInUse) {
			t.Errorf("Delete of what the pointers name: %v, want ErrInUse", err)
		}
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Errorf("Get after that: %v", err)
		}
	}
	if _, err := s.SetPointers(t.Context(), p, receipt.Pointers{Applied: other}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []receipt.ID{applied, liveID} {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Errorf("Delete of what the pointers do not name any more: %v", err)
		}
	}
	if l := list(t, s); len(l) != 1 || l[0].ID != other {
		t.Errorf("the list is %v", l)
	}
}

// Several delete the same, and others put and list meanwhile.
func testDeleteTogether(t *testing.T, s receipt.Store) {
	id := put(t, s, record(1))
	add(t, s, id, outcome(1))
	for i, err := range together(9, func(i int) error {
		switch i % 3 {
		case 0:
			return s.Delete(t.Context(), id)
		case 1:
			_, err := s.Put(t.Context(), record(100+i))
			return err
		default:
			_, err := s.List(t.Context())
			return err
		}
	}) {
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if l := list(t, s); len(l) != 3 {
		t.Errorf("the list is %v", l)
	}
	if o := outcomes(t, s, id); len(o) != 0 {
		t.Errorf("what was deleted has outcomes: %v", o)
	}
}
