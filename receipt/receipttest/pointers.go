package receipttest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/receipt"
)

func pointers(t *testing.T, s receipt.Store) receipt.Pointers {
	t.Helper()
	p, err := s.Pointers(t.Context())
	if err != nil {
		t.Fatalf("Pointers: %v", err)
	}
	return p
}

func testPointers(t *testing.T, s receipt.Store) {
	a, b := put(t, s, record(1)), put(t, s, record(2))
	old := pointers(t, s)
	if old.Applied != "" || old.Live != "" {
		t.Fatalf("a new store's pointers are %v", old)
	}
	for i, want := range []receipt.Pointers{
		{Applied: a},
		{Applied: a, Live: a},
		{Applied: b, Live: a},
		{Applied: b, Live: b},
		{Applied: b, Live: b, Repository: strings.Repeat("0a", 20)},
		{Applied: a, Live: b, Repository: strings.Repeat("0b", 32)},
		{Applied: a},
	} {
		set, err := s.SetPointers(t.Context(), old, want)
		if err != nil {
			t.Fatalf("step %d: SetPointers: %v", i, err)
		}
		if set.Applied != want.Applied || set.Live != want.Live || set.Repository != want.Repository {
			t.Errorf("step %d: set %v, want %v", i, set, want)
		}
		if set.Version == old.Version {
			t.Errorf("step %d: the version is still %q", i, set.Version)
		}
		if diff := cmp.Diff(set, pointers(t, s)); diff != "" {
			t.Errorf("step %d: SetPointers and then Pointers:\n%s", i, diff)
		}
		old = set
	}
}

func testPointersConflict(t *testing.T, s receipt.Store) {
	a, b := put(t, s, record(1)), put(t, s, record(2))
	none := pointers(t, s)
	set := func(old, new receipt.Pointers) receipt.Pointers {
		t.Helper()
		p, err := s.SetPointers(t.Context(), old, new)
		if err != nil {
			t.Fatalf("SetPointers: %v", err)
		}
		return p
	}
	first := set(none, receipt.Pointers{Applied: a})
	second := set(first, receipt.Pointers{Applied: b})
	third := set(second, receipt.Pointers{Applied: a}) // as the first, but not the same
	for name, old := range map[string]receipt.Pointers{
		"none":             none,
		"none with values": {Applied: a},
		"first":            first,
		"second":           second,
	} {
		if p, err := s.SetPointers(t.Context(), old, receipt.Pointers{Applied: b, Live: b}); !errors.Is(err, receipt.ErrConflict) {
			t.Errorf("from %s: %v, %v, want ErrConflict", name, p, err)
		}
	}
	if diff := cmp.Diff(third, pointers(t, s)); diff != "" {
		t.Errorf("a conflict changed the pointers:\n%s", diff)
	}
}

func testPointersRace(t *testing.T, s receipt.Store) {
	const writers, rounds = 8, 5
	ids := make([]receipt.ID, writers)
	for i := range ids {
		ids[i] = put(t, s, record(i))
	}
	for round := range rounds { // the first one creates them
		old := pointers(t, s)
		got := make([]receipt.Pointers, writers)
		winner, wins := -1, 0
		for i, err := range together(writers, func(i int) (err error) {
			got[i], err = s.SetPointers(t.Context(), old, receipt.Pointers{Applied: ids[i]})
			return err
		}) {
			switch {
			case err == nil:
				winner = i
				wins++
			case !errors.Is(err, receipt.ErrConflict):
				t.Errorf("round %d, writer %d: %v, want ErrConflict", round, i, err)
			}
		}
		if wins != 1 {
			t.Fatalf("round %d: %d writers won, want 1", round, wins)
		}
		if now := pointers(t, s); now != got[winner] || now.Applied != ids[winner] {
			t.Errorf("round %d: writer %d won with %v, and the pointers are %v", round, winner, got[winner], now)
		}
	}
}

func testPointersRefuse(t *testing.T, s receipt.Store) {
	id := put(t, s, record(1))
	p, err := s.SetPointers(t.Context(), pointers(t, s), receipt.Pointers{Applied: id})
	if err != nil {
		t.Fatalf("SetPointers: %v", err)
	}
	for _, bad := range notIDs {
		if bad == "" {
			continue // means none
		}
		for _, new := range []receipt.Pointers{{Applied: bad, Live: id}, {Applied: id, Live: bad}} {
			if _, err := s.SetPointers(t.Context(), p, new); !errors.Is(err, receipt.ErrInvalid) {
				t.Errorf("SetPointers to %.80q: %v, want ErrInvalid", bad, err)
			}
		}
	}
	for _, new := range []receipt.Pointers{{}, {Live: id}, {Repository: strings.Repeat("0a", 20)}} {
		if _, err := s.SetPointers(t.Context(), p, new); !errors.Is(err, receipt.ErrInvalid) {
			t.Errorf("SetPointers to %+v, of which nothing is applied: %v, want ErrInvalid", new, err)
		}
	}
	for _, bad := range []string{"main", strings.Repeat("0", 39), strings.Repeat("A", 40), "../../etc/passwd", strings.Repeat("0", 10_000)} {
		if _, err := s.SetPointers(t.Context(), p, receipt.Pointers{Applied: id, Repository: bad}); !errors.Is(err, receipt.ErrInvalid) {
			t.Errorf("SetPointers of the repository %.80q: %v, want ErrInvalid", bad, err)
		}
	}
	if now := pointers(t, s); now != p {
		t.Errorf("the pointers are %v, want %v", now, p)
	}
}
