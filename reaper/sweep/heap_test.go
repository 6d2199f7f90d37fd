package sweep

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
	"unique"

	"github.com/pharos-dev/pharos/internal/sizetest"
)

// The heap does what a map and a search through all of it would do.
func TestDeadlinesAreThoseOfAModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(sizetest.Of(20, 500)) {
		random := rand.New(rand.NewPCG(seed, 1))
		var d deadlines
		model := map[string]entry{}
		uids := 1 + random.IntN(300)
		for range 2000 {
			uid := fmt.Sprint("uid-", random.IntN(uids))
			at := moment(random.IntN(100))
			if at == 0 {
				at = never
			}
			switch random.IntN(8) {
			case 0, 1, 2:
				e := entry{uid: uid, name: fmt.Sprint("name-", random.IntN(1000)), at: at, source: source{list: random.Uint32N(3)}}
				d.put(e)
				model[uid] = e
			case 3:
				d.move(uid, at)
				if e, ok := model[uid]; ok {
					e.at = at
					model[uid] = e
				}
			case 4, 5:
				d.remove(uid)
				delete(model, uid)
			case 6:
				if e := d.first(); e != nil {
					first := e.uid
					d.remove(first)
					delete(model, first)
				}
			case 7:
				if random.IntN(50) > 0 {
					break
				}
				of := random.Uint32N(3)
				d.removeAll(func(e *entry) bool { return e.list == of })
				maps.DeleteFunc(model, func(_ string, e entry) bool { return e.list == of })
			}
			if err := equals(&d, model); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

func equals(d *deadlines, model map[string]entry) error {
	if len(d.entries) != len(model) || len(d.index) != len(model) {
		return fmt.Errorf("%d entries and %d indices of %d", len(d.entries), len(d.index), len(model))
	}
	least := never
	for uid, want := range model {
		least = min(least, want.at)
		if got := d.get(uid); got == nil || *got != want {
			return fmt.Errorf("%s is %v, want %v", uid, got, want)
		}
	}
	if e := d.first(); (e == nil) != (len(model) == 0) || e != nil && e.at != least {
		return fmt.Errorf("the first is %v, want one at %d", e, least)
	}
	if cap(d.entries) > max(smallest, 4*len(model)+4) && cap(d.entries) > 4*smallest {
		return fmt.Errorf("there is room for %d entries of %d", cap(d.entries), len(model))
	}
	return nil
}

// All come out in their order.
func TestDeadlinesInOrder(t *testing.T) {
	t.Parallel()
	var d deadlines
	var want []moment
	for i := range 5000 {
		at := moment(rand.Int64N(1000))
		want = append(want, at)
		d.put(entry{uid: fmt.Sprint(i), at: at})
	}
	slices.Sort(want)
	for i, at := range want {
		e := d.first()
		if e == nil || e.at != at {
			t.Fatalf("number %d is %v, want one at %d", i, e, at)
		}
		d.remove(e.uid)
	}
	if d.first() != nil || cap(d.entries) > smallest {
		t.Errorf("%d entries are left, with room for %d", len(d.entries), cap(d.entries))
	}
}

func TestMomentIsNoEarlier(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 1001, time.UTC)
	if got, want := momentOf(at), momentOf(at.Truncate(time.Second))+2; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if got := momentOf(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)); got <= momentOf(at) || got >= never {
		t.Errorf("the year 9999 is at %d", got)
	}
}

// perObject is the most that an object may take, in bytes of the heap.
const perObject = 400

func TestMemoryOfAnObject(t *testing.T) {
	// It measures the heap, which is not its own while others run.
	const n = 100_000
	before := inUse()
	d := &deadlines{}
	for i := range n {
		d.put(entry{
			uid:       fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012d", i),
			namespace: unique.Make(fmt.Sprintf("preview-%d", i%500)),
			name:      fmt.Sprintf("preview-of-a-change-%012d-config", i),
			at:        moment(i * 7919 % n),
		})
	}
	took := int(inUse()-before) / n
	t.Logf("%d bytes an object", took)
	if took > perObject {
		t.Errorf("an object takes %d bytes, want at most %d", took, perObject)
	}
	for i := range n - 10 {
		d.remove(fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012d", i))
	}
	if left := int(inUse() - before); left > n*perObject/100 {
		t.Errorf("%d bytes are kept for 10 objects", left)
	}
	runtime.KeepAlive(d)
}

// inUse is what the program keeps on its heap.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkDeadlines(b *testing.B) {
	var d deadlines
	for i := range 100_000 {
		d.put(entry{uid: fmt.Sprint(i), at: moment(rand.Int64())})
	}
	b.ReportAllocs()
	for b.Loop() {
		d.move(d.first().uid, moment(rand.Int64()))
	}
}
