package sweep

import (
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// What the watch says and what a look came to, in any order, leads to the right next
// look.
func TestStoreKnowsWhenToLookAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ends := func(after time.Duration) reaper.Object {
		return reaper.Object{Kind: "ConfigMap", Namespace: "shop", Name: "a", UID: "uid", Created: now.Add(-time.Hour),
			Labels:      map[string]string{keys.Intent: "transient"},
			Annotations: map[string]string{keys.ExpiresAt: reaper.FormatTime(now.Add(after))}}
	}
	with := func(o reaper.Object, change func(*reaper.Object)) reaper.Object { change(&o); return o }
	owned := with(ends(0), func(o *reaper.Object) { o.Owned = true })
	dying := with(ends(0), func(o *reaper.Object) { o.Deleted = now })
	notified := with(ends(time.Minute), func(o *reaper.Object) { o.Annotations[keys.Notified] = o.Annotations[keys.ExpiresAt] })
	retained := with(ends(0), func(o *reaper.Object) { o.Labels = map[string]string{keys.Intent: "retained"} })

	take := func(t *testing.T, s *store) entry {
		t.Helper()
		e, due, _ := s.take(momentOf(now))
		if !due {
			t.Fatal("nothing is due")
		}
		return e
	}
	for name, tt := range map[string]struct {
		notify time.Duration
		do     func(t *testing.T, s *store)
		want   time.Duration // from now, at least; less than 0 for never
		slack  time.Duration
		class  class
	}{
		"later":             {do: func(_ *testing.T, s *store) { s.see(source{}, ends(time.Hour), now) }, want: time.Hour},
		"owned":             {do: func(_ *testing.T, s *store) { s.see(source{}, owned, now) }, want: -1, class: isOwned},
		"terminating":       {do: func(_ *testing.T, s *store) { s.see(source{}, dying, now) }, want: 10 * time.Minute, class: isTerminating},
		"to announce":       {notify: time.Minute, do: func(_ *testing.T, s *store) { s.see(source{}, ends(time.Hour), now) }, want: 59 * time.Minute},
		"announced earlier": {notify: time.Hour, do: func(_ *testing.T, s *store) { s.see(source{}, notified, now) }, want: time.Minute},
		"announced": {notify: time.Hour, do: func(t *testing.T, s *store) {
			s.see(source{}, ends(time.Minute), now)
			take(t, s)
			s.see(source{}, notified, now) // which we wrote
			s.put("uid", announced, time.Time{}, now)
			s.see(source{}, ends(time.Minute), now) // an older one
		}, want: time.Minute},
		"extended while it was announced": {notify: time.Hour, do: func(t *testing.T, s *store) {
			s.see(source{}, ends(time.Minute), now)
			take(t, s)
			s.see(source{}, ends(5*time.Hour), now)
			s.put("uid", announced, time.Time{}, now)
		}, want: 4 * time.Hour},
		"ended": {do: func(t *testing.T, s *store) {
			s.see(source{}, ends(0), now)
			take(t, s)
			s.see(source{}, ends(0), now) // that it was marked, say
			s.put("uid", ended, time.Time{}, now)
		}, want: 10 * time.Minute, class: isTerminating},
		"extended behind the watch": {do: func(t *testing.T, s *store) {
			s.see(source{}, ends(0), now)
			take(t, s)
			s.put("uid", waits, now.Add(time.Hour), now)
		}, want: time.Hour},
		"extended before the watch": {do: func(t *testing.T, s *store) {
			s.see(source{}, ends(0), now)
			take(t, s)
			s.see(source{}, ends(2*time.Hour), now)
			s.put("uid", waits, now.Add(time.Hour), now)
		}, want: 2 * time.Hour},
		"due by one clock only": {do: func(t *testing.T, s *store) {
			s.see(source{}, ends(0), now)
			take(t, s)
			s.put("uid", waits, now, now)
		}, want: soonest},
		"failed": {do: func(t *testing.T, s *store) {
			s.see(source{}, ends(0), now)
			take(t, s)
			s.put("uid", failed, time.Time{}, now)
			s.see(source{}, ends(0), now) // its status changes all the time
		}, want: retryFirst, slack: retryFirst / 4},
		"failed and owned": {do: func(t *testing.T, s *store) {
			s.see(source{}, ends(0), now)
			take(t, s)
			s.see(source{}, owned, now)
			s.put("uid", failed, time.Time{}, now)
		}, want: -1, class: isOwned},
		"refused": {do: func(t *testing.T, s *store) {
			s.see(source{}, ends(0), now)
			take(t, s)
			s.see(source{}, ends(0), now) // that it was marked
			s.put("uid", refused, time.Time{}, now)
			s.see(source{}, ends(0), now) // that the mark was taken back
		}, want: refusedAgain, class: isRefused},
		"refused and extended": {do: func(t *testing.T, s *store) {
			s.see(source{}, ends(0), now)
			take(t, s)
			s.put("uid", refused, time.Time{}, now)
			s.see(source{}, ends(time.Minute), now)
		}, want: time.Minute},
		"stuck": {do: func(t *testing.T, s *store) {
			old := with(dying, func(o *reaper.Object) { o.Deleted = now.Add(-time.Hour) })
			s.see(source{}, old, now)
			take(t, s)
			s.put("uid", stuckFast, time.Time{}, now)
			s.see(source{}, old, now)
		}, want: -1, class: isStuck},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(Config{NotifyBefore: tt.notify, StuckAfter: 10 * time.Minute})
			tt.do(t, s)
			e := s.deadlines.get("uid")
			if e == nil {
				t.Fatal("it is forgotten")
			}
			if e.class != tt.class {
				t.Errorf("it is %s, want %s", Classes[e.class], Classes[tt.class])
			}
			got := time.UnixMicro(int64(e.at)).Sub(now)
			switch {
			case tt.want < 0:
				if e.at != never {
					t.Errorf("it is looked at again after %s, want never", got)
				}
			case e.at == never || got < tt.want || got > tt.want+tt.slack:
				t.Errorf("it is looked at again after %s, want %s", got, tt.want)
			}
			s.see(source{}, retained, now)
			if s.deadlines.get("uid") != nil {
				t.Error("it says that it is retained, and is still looked after")
			}
		})
	}
}

// What is gone is not waited for, also while no watch tells so.
func TestStoreForgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newStore(Config{StuckAfter: time.Minute})
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	s.see(source{}, reaper.Object{UID: "uid", Created: now.Add(-time.Hour), Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.TTL: "1s"}}, now)
	e, due, _ := s.take(momentOf(now))
	if !due {
		t.Fatal("it is not due")
	}
	s.put(e.uid, lookedAt(Result{Outcome: Gone}, nil), time.Time{}, now)
	if _, due, _ := s.take(momentOf(now.Add(time.Hour))); due || s.deadlines.get("uid") != nil {
		t.Error("it is still looked after")
	}
}

// Pauses grow with each failure, and end with the first success.
func TestStoreBacksOff(t *testing.T) {
	t.Parallel()
	s := newStore(Config{})
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	s.see(source{}, reaper.Object{UID: "uid", Created: now, Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.TTL: "1s"}}, now)
	for n := range 100 {
		now = now.Add(24 * time.Hour)
		if _, due, _ := s.take(momentOf(now)); !due {
			t.Fatalf("after %d failures it is not due in a day", n)
		}
		s.put("uid", failed, time.Time{}, now)
		want := min(time.Second<<min(n, 30), 5*time.Minute)
		if got := time.UnixMicro(int64(s.deadlines.get("uid").at)).Sub(now); got < want || got > want+want/4 {
			t.Errorf("after %d failures it pauses for %s, want %s", n+1, got, want)
		}
	}
	if _, failing := s.count(nil); failing != 1 {
		t.Errorf("%d fail", failing)
	}
	now = now.Add(24 * time.Hour)
	s.take(momentOf(now))
	s.put("uid", unreached, time.Time{}, now)
	if got := time.UnixMicro(int64(s.deadlines.get("uid").at)).Sub(now); got > 20*time.Second {
		t.Errorf("after an outage it pauses for %s", got)
	}
	s.take(momentOf(now.Add(time.Hour)))
	s.put("uid", waits, now, now)
	if _, failing := s.count(nil); failing != 0 {
		t.Errorf("after a success %d fail", failing)
	}
}

// A list that is complete tells what is gone, of its own resource alone.
func TestStoreForgetsWhatAListHasNot(t *testing.T) {
	t.Parallel()
	s := newStore(Config{})
	now := time.Now()
	see := func(uid string, from source) {
		s.see(from, reaper.Object{UID: uid, Created: now, Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.TTL: "1h"}}, now)
	}
	see("stays", source{watch: 1, list: 1})
	see("goes", source{watch: 1, list: 1})
	see("other", source{watch: 2, list: 1})
	see("stays", source{watch: 1, list: 2})
	see("comes", source{watch: 1, list: 2})
	s.listed(source{watch: 1, list: 2})
	for uid, want := range map[string]bool{"stays": true, "goes": false, "other": true, "comes": true} {
		if got := s.deadlines.get(uid) != nil; got != want {
			t.Errorf("%s is known: %t", uid, got)
		}
	}
	s.unwatched(1)
	if s.deadlines.get("stays") != nil || s.deadlines.get("other") == nil {
		t.Error("the wrong resource was forgotten")
	}
}
