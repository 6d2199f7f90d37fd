package sweep

import (
	"container/heap"
	"iter"
	"math"
	"time"
	"unique"
)

// entry is an object that is looked after, as small as it can be: there may be very
// many.
type entry struct {
	uid       string
	namespace unique.Handle[string]
	name      string
	at        moment // when it is to be looked at next
	due       moment // its deadline
	created   int64  // in seconds since 1970
	source           // the watch that it comes from, and the list that it was in last
	class     class
	announced bool // its end was
}

// moment is a time in microseconds since 1970, rounded up: nothing is due before it is.
type moment int64

// never is the moment of what is not looked at again until it changes.
const never moment = math.MaxInt64

func momentOf(t time.Time) moment {
	m := moment(t.UnixMicro())
	if t.Nanosecond()%1000 != 0 {
		m++
	}
	return m
}

// deadlines holds entries, one for each UID, and knows which is due first. Changes
// take O(log n). It is not safe for concurrent use; the zero value is empty.
type deadlines struct {
	entries []entry          // a heap, by at
	index   map[string]int32 // of entries, by UID
}

// get returns the entry with the UID, or nil. Its at must not be changed; it is valid
// until the next change.
func (d *deadlines) get(uid string) *entry {
	if i, ok := d.index[uid]; ok {
		return &d.entries[i]
	}
	return nil
}

// first returns the entry that is due first, or nil; see get.
func (d *deadlines) first() *entry {
	if len(d.entries) == 0 {
		return nil
	}
	return &d.entries[0]
}

// put adds the entry, or replaces the one with its UID.
func (d *deadlines) put(e entry) {
	if i, ok := d.index[e.uid]; ok {
		e.uid = d.entries[i].uid // the map holds this one
		d.entries[i] = e
		heap.Fix((*byMoment)(d), int(i))
		return
	}
	heap.Push((*byMoment)(d), e)
}

// move changes when the entry with the UID is due, if there is one.
func (d *deadlines) move(uid string, at moment) {
	if i, ok := d.index[uid]; ok {
		d.entries[i].at = at
		heap.Fix((*byMoment)(d), int(i))
	}
}

// remove removes the entry with the UID, if there is one.
func (d *deadlines) remove(uid string) {
	if i, ok := d.index[uid]; ok {
		heap.Remove((*byMoment)(d), int(i))
		d.shrink()
	}
}

// removeAll removes what is so, in O(n).
func (d *deadlines) removeAll(is func(*entry) bool) {
	kept := d.entries[:0]
	for i := range d.entries {
		if e := d.entries[i]; is(&e) {
			delete(d.index, e.uid)
		} else {
			kept = append(kept, e)
		}
	}
	clear(d.entries[len(kept):])
	d.entries = kept
	for i, e := range kept {
		d.index[e.uid] = int32(i)
	}
	heap.Init((*byMoment)(d))
	d.shrink()
}

// all goes through the entries in no order.
func (d *deadlines) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for i := range d.entries {
			if !yield(&d.entries[i]) {
				return
			}
		}
	}
}

// smallest is what a shrunk heap still has room for.
const smallest = 64

// shrink gives back what many entries that are gone took: neither a slice nor a map
// does so by itself.
func (d *deadlines) shrink() {
	n := len(d.entries)
	if cap(d.entries) <= smallest || n > cap(d.entries)/4 {
		return
	}
	entries, index := make([]entry, n, max(2*n, smallest)), make(map[string]int32, max(2*n, smallest))
	copy(entries, d.entries)
	for i, e := range entries {
		index[e.uid] = int32(i)
	}
	d.entries, d.index = entries, index
}

// byMoment is deadlines for package heap.
type byMoment deadlines

var _ heap.Interface = (*byMoment)(nil)

// Len implements heap.Interface.
func (d *byMoment) Len() int { return len(d.entries) }

// Less implements heap.Interface.
func (d *byMoment) Less(i, j int) bool { return d.entries[i].at < d.entries[j].at }

// Swap implements heap.Interface.
func (d *byMoment) Swap(i, j int) {
	d.entries[i], d.entries[j] = d.entries[j], d.entries[i]
	d.index[d.entries[i].uid], d.index[d.entries[j].uid] = int32(i), int32(j)
}

// Push implements heap.Interface.
func (d *byMoment) Push(x any) {
	if d.index == nil {
		d.index = map[string]int32{}
	}
	e := x.(entry)
	d.index[e.uid] = int32(len(d.entries))
	d.entries = append(d.entries, e)
}

// Pop implements heap.Interface.
func (d *byMoment) Pop() any {
	last := len(d.entries) - 1
	e := d.entries[last]
	d.entries[last] = entry{}
	d.entries = d.entries[:last]
	delete(d.index, e.uid)
	return e
}
