package reaper

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Of whatever was created, no hour has more than the limit, and who asks again when
// there is room is admitted. The ledger stays small.
func TestSlidingWindow(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const limit = 20
	tier := Tier{Name: "t", MaxObjects: MaxTierObjects, CPU: Unlimited, Memory: Unlimited, CreatesPerHour: limit}
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var l ledger
	var created []time.Time
	for now := start; now.Before(start.Add(24 * time.Hour)); now = now.Add(time.Duration(r.IntN(300)) * time.Second) {
		denials := l.admit(tier, entry{ID: now.String()}, now)
		if len(denials) == 0 {
			created = append(created, now)
			l.Entries = nil
			continue
		}
		room := denials[0].Room
		if len(denials) != 1 || denials[0].Limit != LimitCreates || !room.After(now) || room.Sub(now) > 61*time.Minute {
			t.Fatalf("at %s: %+v", now, denials)
		}
		again := ledger{Creates: append([]minute(nil), l.Creates...)}
		if again.admit(tier, entry{}, room.Add(-time.Second)) == nil || len(again.admit(tier, entry{}, room)) != 0 {
			t.Fatalf("at %s: there is no room at %s, or before", now, room)
		}
		if len(l.Creates) > 61 {
			t.Fatalf("%d minutes", len(l.Creates))
		}
	}
	most := 0
	for i, from := range created {
		n := 0
		for _, at := range created[i:] {
			if at.Sub(from) < time.Hour {
				n++
			}
		}
		most = max(most, n)
	}
	if most != limit {
		t.Errorf("%d were created within an hour, want %d", most, limit)
	}
}

// A clock that is set back neither loses nor reorders what was counted.
func TestLedgerClockBack(t *testing.T) {
	t.Parallel()
	tier := Tier{Name: "t", MaxObjects: 10, CPU: Unlimited, Memory: Unlimited, CreatesPerHour: 2}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var l ledger
	for _, at := range []time.Time{now, now.Add(-2 * time.Hour)} {
		if d := l.admit(tier, entry{ID: at.String()}, at); len(d) > 0 {
			t.Fatal(d)
		}
	}
	if d := l.admit(tier, entry{}, now.Add(time.Minute)); len(d) != 1 {
		t.Errorf("%+v of %+v", d, l)
	}
	l.release(now.Add(-2 * time.Hour).String())
	l.release("nobody")
	if _, _, creates := l.used(); creates != 1 || len(l.Entries) != 1 {
		t.Errorf("%+v", l)
	}
}

func TestLedgerSees(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pods := where{Resource: "pods", Namespace: "a"}
	of := func(id string, ago time.Duration, there bool) entry {
		return entry{ID: id, Version: "v1", Resource: "pods", Namespace: "a", At: now.Add(-ago).Unix(), There: there}
	}
	elsewhere := of("elsewhere", time.Hour, true)
	elsewhere.Namespace = "b"
	l := ledger{Entries: []entry{
		of("there", time.Hour, true), of("gone", time.Second, true), of("late", time.Hour, false),
		of("pending", time.Minute, false), of("lost", 2*time.Minute, false), elsewhere,
	}}
	admitted := func(id string) Object {
		return Object{UID: "u-" + id, Created: now, Annotations: map[string]string{"pharos.dev/admitted": `{"id":"` + id + `","cpu":5}`}}
	}
	l.see(pods, "v1", []Object{admitted("there"), admitted("late"), admitted("unknown"), {UID: "bare", Created: now}}, now)
	got := map[string]bool{}
	for _, e := range l.Entries {
		got[e.ID] = e.There
	}
	want := map[string]bool{"there": true, "late": true, "pending": false, "elsewhere": true, "unknown": true, "bare": true}
	if len(got) != len(want) || len(l.Entries) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for id, there := range want {
		if has, ok := got[id]; !ok || has != there {
			t.Errorf("%s: %v %v, want %v", id, has, ok, there)
		}
	}
	if _, r, _ := l.used(); r.CPU != 5 {
		t.Errorf("the requests are %+v, want those of what was not in the ledger", r)
	}
}

func FuzzLedger(f *testing.F) {
	f.Add(`{"entries":[{"id":"a","version":"v1","resource":"pods","at":1}],"creates":[{"at":1,"n":1}]}`, int64(60))
	f.Add(`{"creates":[{"at":-9223372036854775808,"n":9223372036854775807},{"at":9223372036854775807,"n":-1}]}`, int64(-1))
	f.Fuzz(func(t *testing.T, text string, at int64) {
		l, err := readLedger(text)
		if err != nil {
			return
		}
		now := time.Unix(at%(1<<40), 0)
		tier := Tier{Name: "t", MaxObjects: 3, CPU: 1000, Memory: 1000, CreatesPerHour: 5}
		before := len(l.Entries)
		for _, w := range l.wheres() {
			l.see(w, "v1", []Object{{UID: "x"}}, now)
		}
		if d := l.admit(tier, entry{ID: "new", requests: requests{CPU: 10, Memory: 10}}, now); len(d) == 0 && len(l.Entries) > 3 {
			t.Errorf("%d were admitted beside %d", len(l.Entries), before)
		}
		l.seen("new")
		l.release("new")
	})
}
