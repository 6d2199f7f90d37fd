package receipttest

import (
	"errors"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/receipt"
)

func testPutAndGet(t *testing.T, s receipt.Store) {
	for _, r := range []receipt.Record{record(1), full()} {
		want, err := r.ID()
		if err != nil {
			t.Fatal(err)
		}
		id := put(t, s, r)
		if id != want {
			t.Errorf("Put returned %s, the record's ID is %s", id, want)
		}
		got, err := s.Get(t.Context(), id)
		if err != nil {
			t.Fatalf("Get: %v", err)
		}
		same(t, "record", r, got)
	}
}

func testPutTwice(t *testing.T, s receipt.Store) {
	id := put(t, s, full())
	add(t, s, id, outcome(1))
	other := put(t, s, record(5))
	before := list(t, s)
	if again := put(t, s, full()); again != id {
		t.Errorf("the second Put returned %s, the first %s", again, id)
	}
	same(t, "list after a second Put", before, list(t, s))
	if l := list(t, s); len(l) != 2 || l[0].ID != other {
		t.Errorf("putting it again moved it: %v", l)
	}
	same(t, "outcomes after a second Put", []receipt.Outcome{outcome(1)}, outcomes(t, s, id))
}

func testPutTogether(t *testing.T, s receipt.Store) {
	want, err := full().ID()
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range together(8, func(i int) error {
		id, err := s.Put(t.Context(), full())
		if err == nil && id != want {
			t.Errorf("writer %d: Put returned %s, want %s", i, id, want)
		}
		_, other := s.Put(t.Context(), record(100+i))
		return errors.Join(err, other)
	}) {
		if err != nil {
			t.Errorf("writer %d: Put: %v", i, err)
		}
	}
	seen := map[receipt.ID]int{}
	for _, l := range list(t, s) {
		seen[l.ID]++
	}
	if len(seen) != 9 || seen[want] != 1 {
		t.Errorf("the store holds %v", seen)
	}
}

func testPutLarge(t *testing.T, s receipt.Store) {
	r := large()
	data, err := r.Canonical()
	if err != nil || len(data) < 1<<20 {
		t.Fatalf("a record of %d bytes (%v), want 1 MiB", len(data), err)
	}
	id := put(t, s, r)
	if again := put(t, s, r); again != id {
		t.Errorf("the second Put returned %s, the first %s", again, id)
	}
	got, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	same(t, "record", r, got)
}

func testList(t *testing.T, s receipt.Store) {
	if l := list(t, s); len(l) != 0 {
		t.Fatalf("a new store holds %v", l)
	}
	var want []receipt.Summary // newest first
	for n := range 6 {
		r := record(n)
		id := put(t, s, r)
		sum := receipt.Summary{ID: id, Commit: r.Commit}
		if n > 0 {
			for i := range n {
				add(t, s, id, outcome(i))
				sum.Add(outcome(i))
			}
		}
		want = append([]receipt.Summary{sum}, want...)
	}
	// The newest one's last outcomes saw objects, Applications and Jobs, which a
	// list leaves out.
	for _, o := range []receipt.Outcome{live(3), applications(1), completed(1)} {
		add(t, s, want[0].ID, o)
		want[0].Add(o.Summary())
	}

	got := list(t, s)
	for i := range got {
		if i > 0 && got[i].Created.After(got[i-1].Created) {
			t.Errorf("%s was created at %s, later than %s at %s, which stands before it", got[i].ID, got[i].Created, got[i-1].ID, got[i-1].Created)
		}
	}
	for i := range got {
		got[i].Created = time.Time{} // it is the store's to say
	}
	same(t, "list", want, got)
}
