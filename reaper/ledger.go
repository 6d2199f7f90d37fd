package reaper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
)

// ledger is what a tier has admitted. Its size is bounded by the tier's MaxObjects and
// by the minutes of an hour.
type ledger struct {
	Entries []entry `json:"entries,omitempty"`
	// Creates are the creates of the last hour by minutes since 1970, in their order.
	Creates []minute `json:"creates,omitempty"`
}

// entry is one admission.
type entry struct {
	ID        string `json:"id"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	requests
	// At is when it was admitted, in seconds since 1970.
	At int64 `json:"at"`
	// There says that the object was seen: it is gone when it is not seen any more.
	There bool `json:"there,omitempty"`
	// ends is when the object ends, as far as it was seen.
	ends time.Time
}

// minute is how many were created in one minute.
type minute struct {
	At int64 `json:"at"`
	N  int64 `json:"n"`
}

// pending is how long an admission counts whose object is not there: the server may
// still be about to create it.
const pending = 2 * time.Minute

// where is a place that objects are listed of. They are the same ones in each version.
type where struct{ Group, Resource, Namespace string }

func (e entry) where() where { return where{e.Group, e.Resource, e.Namespace} }

// admission is the annotation on what was admitted.
type admission struct {
	ID string `json:"id"`
	requests
}

func readLedger(text string) (l ledger, err error) {
	if text == "" {
		return l, nil
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return ledger{}, err
	}
	for _, e := range l.Entries {
		if e.ID == "" || e.Version == "" || e.Resource == "" || !e.believable() {
			return ledger{}, fmt.Errorf("there is no such entry as %+v", e)
		}
	}
	for _, m := range l.Creates {
		if m.N < 0 || m.N > 1<<40 {
			return ledger{}, fmt.Errorf("%d creates in a minute are not to be believed", m.N)
		}
	}
	return l, nil
}

// wheres are the places of the objects in the ledger, in order.
func (l *ledger) wheres() []where {
	var all []where
	for _, e := range l.Entries {
		all = append(all, e.where())
	}
	slices.SortFunc(all, func(a, b where) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace))
	})
	return slices.Compact(all)
}

// version is the last one in which objects of a place were written down.
func (l *ledger) version(at where) (version string) {
	for _, e := range l.Entries {
		if e.where() == at {
			version = e.Version
		}
	}
	return version
}

// see brings the entries of one place to what is there, found in that version after
// the ledger was read: what was there and is not is gone, and so is what was never
// there when its time is over. What is there without an entry, since its ledger was
// lost or it came later than anything should, gets one.
func (l *ledger) see(at where, version string, there []Object, now time.Time) {
	found := map[string]Object{}
	for _, o := range there {
		found[admissionOf(o).ID] = o
	}
	l.Entries = slices.DeleteFunc(l.Entries, func(e entry) bool {
		_, ok := found[e.ID]
		return e.where() == at && !ok && (e.There || now.Sub(time.Unix(e.At, 0)) >= pending)
	})
	for i, e := range l.Entries {
		if o, ok := found[e.ID]; ok && e.where() == at {
			l.Entries[i].Version, l.Entries[i].There, l.Entries[i].ends = version, true, endOf(o)
			delete(found, e.ID)
		}
	}
	for _, o := range there { // in its order
		a := admissionOf(o)
		if _, ok := found[a.ID]; ok {
			l.Entries = append(l.Entries, entry{ID: a.ID, Group: at.Group, Version: version, Resource: at.Resource, Namespace: at.Namespace,
				requests: a.requests, At: o.Created.Unix(), There: true, ends: endOf(o)})
			delete(found, a.ID)
		}
	}
}

// pass forgets the creates that are not of the last hour. A minute counts as long as
// any of it is.
func (l *ledger) pass(now time.Time) {
	l.Creates = slices.DeleteFunc(l.Creates, func(m minute) bool { return m.At+61 <= now.Unix()/60 })
}

// used is what the tier has.
func (l *ledger) used() (objects int64, r requests, creates int64) {
	for _, e := range l.Entries {
		r.CPU += e.CPU
		r.Memory += e.Memory
	}
	for _, m := range l.Creates {
		creates += m.N
	}
	return int64(len(l.Entries)), r, creates
}

// admit adds an entry if the tier has room for it, and says else by which limits it has
// none.
func (l *ledger) admit(t Tier, e entry, now time.Time) []Denial {
	l.pass(now)
	objects, r, creates := l.used()
	var denials []Denial
	deny := func(limit Limit, most, used, asked int64, room func() time.Time) {
		if most == Unlimited || asked == 0 || used <= most && asked <= most-used {
			return
		}
		d := Denial{Limit: limit, Max: most, Used: used, Asked: asked}
		if asked <= most {
			d.Room = room()
		}
		denials = append(denials, d)
	}
	deny(LimitObjects, t.MaxObjects, objects, 1, func() time.Time { return l.room(t.MaxObjects-1, func(entry) int64 { return 1 }) })
	deny(LimitCPU, t.CPU, r.CPU, e.CPU, func() time.Time { return l.room(t.CPU-e.CPU, func(e entry) int64 { return e.CPU }) })
	deny(LimitMemory, t.Memory, r.Memory, e.Memory, func() time.Time { return l.room(t.Memory-e.Memory, func(e entry) int64 { return e.Memory }) })
	deny(LimitCreates, t.CreatesPerHour, creates, 1, func() time.Time { return l.roomForCreate(t.CreatesPerHour) })
	if len(denials) > 0 {
		return denials
	}
	l.Entries = append(l.Entries, e)
	l.count(now, 1)
	return nil
}

// count adds to the creates of a minute.
func (l *ledger) count(at time.Time, n int64) {
	m := at.Unix() / 60
	if last := len(l.Creates) - 1; last >= 0 && l.Creates[last].At >= m { // a clock that was set back
		l.Creates[last].N += n
		return
	}
	l.Creates = append(l.Creates, minute{m, n})
}

// has says whether an admission is in the ledger.
func (l *ledger) has(id string) bool {
	return slices.ContainsFunc(l.Entries, func(e entry) bool { return e.ID == id })
}

// seen writes down that the object of an admission is there.
func (l *ledger) seen(id string) {
	for i := range l.Entries {
		l.Entries[i].There = l.Entries[i].There || l.Entries[i].ID == id
	}
}

// release takes back an admission whose object the server did not create.
func (l *ledger) release(id string) {
	for _, e := range l.Entries {
		if e.ID != id {
			continue
		}
		for i := len(l.Creates) - 1; i >= 0; i-- {
			if l.Creates[i].At <= e.At/60 || i == 0 {
				l.Creates[i].N--
				break
			}
		}
	}
	l.Entries = slices.DeleteFunc(l.Entries, func(e entry) bool { return e.ID == id })
	l.Creates = slices.DeleteFunc(l.Creates, func(m minute) bool { return m.N <= 0 })
}

// room is when the entries have ended by which there is no more than most, or zero if
// that is not known.
func (l *ledger) room(most int64, of func(entry) int64) time.Time {
	var used int64
	for _, e := range l.Entries {
		used += of(e)
	}
	ends := slices.DeleteFunc(slices.Clone(l.Entries), func(e entry) bool { return e.ends.IsZero() })
	slices.SortFunc(ends, func(a, b entry) int { return a.ends.Compare(b.ends) })
	for _, e := range ends {
		if used -= of(e); used <= most {
			return e.ends
		}
	}
	return time.Time{}
}

// roomForCreate is when one more can be created.
func (l *ledger) roomForCreate(most int64) time.Time {
	_, _, creates := l.used()
	for _, m := range l.Creates {
		if creates -= m.N; creates < most {
			return time.Unix((m.At+61)*60, 0).UTC()
		}
	}
	return time.Time{}
}

// admissionOf reads by which admission an object was created. What cannot be read
// counts by its UID.
func admissionOf(o Object) admission {
	var a admission
	if err := json.Unmarshal([]byte(o.Annotations[keys.Admitted]), &a); err != nil || a.ID == "" || !a.believable() {
		return admission{ID: o.UID}
	}
	return a
}

// endOf is when an object ends, or zero if that cannot be read.
func endOf(o Object) time.Time {
	i, err := ReadIntent(o.Labels, o.Annotations)
	if err != nil {
		return time.Time{}
	}
	end, _ := i.Deadline(o.Created)
	return end
}

// String is the place for people.
func (w where) String() string {
	r := Ref{Group: w.Group, Resource: w.Resource}
	if w.Namespace == "" {
		return r.resource()
	}
	return fmt.Sprintf("%s in %s", r.resource(), w.Namespace)
}
