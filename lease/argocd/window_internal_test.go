package argocd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lease"
)

var noon = time.Date(2026, 11, 30, 12, 0, 7, 0, time.UTC)

func claimAt(now time.Time, d time.Duration) lease.Claim {
	return lease.Claim{Namespace: "pharos", Target: "devbox", Holder: "HOLDER", Token: 3, User: "ann@laptop", Purpose: "try", Now: now, Until: now.Add(d), Covers: []string{"web", "api"}}
}

// windowFrom is a window as it would be read from a project.
func windowFrom(t testing.TB, fields map[string]any) argo.Window {
	t.Helper()
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var w argo.Window
	if err := json.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func application(t testing.TB, text string) *argo.Application {
	t.Helper()
	a, err := argo.ParseApplication([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWindowIsWrittenAs(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(newWindow(claimAt(noon, 25*time.Minute), []string{"web", "api"}).fields())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"applications":["api","web","pharos.dev/lease=pharos/devbox/3/HOLDER/2026-11-30T12:25:07Z"],` +
		`"description":"Pharos: borrowed by ann@laptop: try","duration":"26m7s","kind":"deny","manualSync":false,"schedule":"59 11 30 11 *","timeZone":"UTC"}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

// closedFrom asks Argo CD's rule, as internal/argo has it, whether a window denies.
func closedAt(t testing.TB, w window, name string, at time.Time) bool {
	t.Helper()
	a := application(t, fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
	return argo.Blocking([]argo.Window{windowFrom(t, w.fields())}, a, at) != nil
}

// A window denies from its start until its end to the second, what it covers and
// nothing else; one that has ended never does.
func TestWindowLasts(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{
		noon, noon.Truncate(time.Minute), time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 0, 0, 30, 0, time.UTC),
	} {
		for _, d := range []time.Duration{time.Second, 59 * time.Second, 20 * time.Minute, 12 * time.Hour, 40 * 24 * time.Hour} {
			c := claimAt(now, d)
			w := newWindow(c, c.Covers)
			for at, want := range map[time.Time]bool{
				now: true, now.Add(-backdated / 2): true, c.Until.Add(-time.Second): true, c.Until: false, c.Until.Add(time.Second): false,
				now.Add(-3 * time.Minute): false,
			} {
				if got := closedAt(t, w, "api", at); got != want {
					t.Errorf("from %s until %s: at %s it denies: %t", now, c.Until, at, got)
				}
				if closedAt(t, w, "api2", at) || closedAt(t, w, w.mark.String()[:8], at) {
					t.Errorf("it denies others")
				}
				for range 3 {
					if e := w.ended(at); closedAt(t, e, "api", at) || closedAt(t, e, "api", e.start) || closedAt(t, e, "api", e.start.Add(time.Millisecond)) {
						t.Errorf("ended at %s it denies", at)
					}
				}
			}
			if _, wrong := read(windowFrom(t, w.fields()), w.mark); len(wrong) > 0 {
				t.Errorf("as it was written it is found wrong: %q", wrong)
			}
			e := w.ended(now)
			if _, wrong := read(windowFrom(t, e.fields()), e.mark); len(wrong) > 0 {
				t.Errorf("as it was ended it is found wrong: %q", wrong)
			}
		}
	}
}

func TestEndedAt(t *testing.T) {
	t.Parallel()
	w := newWindow(claimAt(noon, time.Hour), []string{"api"})
	if e := w.ended(noon.Add(time.Minute + 300*time.Millisecond)); !e.mark.End.Equal(noon.Add(time.Minute)) {
		t.Errorf("before its end: %s", e.mark.End)
	}
	if e := w.ended(noon.Add(2 * time.Hour)); !e.mark.End.Equal(w.mark.End) {
		t.Errorf("after its end: %s", e.mark.End)
	}
}

// No two windows of a project have the same kind, schedule and duration.
func TestNoDuplicates(t *testing.T) {
	t.Parallel()
	var windows []argo.Window
	seen := map[string]bool{}
	for i := range 5 {
		w := newWindow(claimAt(noon, time.Hour), []string{fmt.Sprint("app-", i)}).among(windows)
		if !w.mark.End.Equal(noon.Add(time.Hour)) || w.start.Add(time.Hour+7*time.Second+backdated).Before(noon.Add(-5*time.Minute)) {
			t.Errorf("it lasts from %s until %s", w.start, w.mark.End)
		}
		if !closedAt(t, w, w.names[0], noon.Add(59*time.Minute)) || closedAt(t, w, w.names[0], noon.Add(time.Hour)) {
			t.Errorf("the window %d does not end when it should", i)
		}
		key := w.schedule() + w.duration()
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		windows = append(windows, windowFrom(t, w.fields()))
		e := w.ended(noon).among(windows)
		if key = e.schedule() + e.duration(); seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		windows = append(windows, windowFrom(t, e.fields()))
	}
}

func TestReadFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWindow(claimAt(noon, time.Hour), []string{"api", "web"})
	for name, tt := range map[string]struct {
		field string
		value any
		says  string
	}{
		"kind":        {"kind", "allow", `kind is "allow", not "deny"`},
		"manual":      {"manualSync", true, "manualSync is true"},
		"duration":    {"duration", "1m", "lasts 1m"},
		"written so":  {"duration", "3667s", "lasts 3667s"},
		"no duration": {"duration", "long", `its duration is "long"`},
		"schedule":    {"schedule", "0 0 1 1 *", `starts at "0 0 1 1 *"`},
		"zone":        {"timeZone", "Europe/Berlin", "timeZone"},
		"namespaces":  {"namespaces", []any{"x"}, "namespaces is"},
		"and":         {"andOperator", true, "andOperator is true"},
		"unknown":     {"syncOverrun", true, "syncOverrun is true, not absent"},
		"order":       {"applications", []any{w.mark.String(), "api", "web"}, "applications is"},
	} {
		f := w.fields()
		f[tt.field] = tt.value
		_, wrong := read(windowFrom(t, f), w.mark)
		if !strings.Contains(strings.Join(wrong, "; "), tt.says) {
			t.Errorf("%s: says %q, want %q", name, wrong, tt.says)
		}
	}
	f := w.fields()
	delete(f, "manualSync") // Argo CD leaves out what is false
	f["description"] = "something else"
	if _, wrong := read(windowFrom(t, f), w.mark); len(wrong) > 0 {
		t.Errorf("as Argo CD writes it, it is found wrong: %q", wrong)
	}
	e := w.ended(noon)
	f = e.fields()
	f["duration"] = "1h"
	if _, wrong := read(windowFrom(t, f), e.mark); len(wrong) == 0 {
		t.Error("one that has ended may last an hour")
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	c := claimAt(noon, time.Hour)
	c.Purpose = "\x1b[31m" + strings.Repeat("ä", 300) + "\xff"
	text := describe(c)
	if len(text) > maxText || len(text) < maxText-2 || strings.Contains(text, "\x1b") || !utf8.ValidString(text) || !strings.HasPrefix(text, "Pharos: borrowed by ann@laptop:") {
		t.Errorf("it is %q, of %d bytes", text, len(text))
	}
}

// What is read of a window is a function of its text, whatever stands there.
func FuzzRead(f *testing.F) {
	w := newWindow(claimAt(noon, time.Hour), []string{"api"})
	for _, fields := range []map[string]any{w.fields(), w.ended(noon).fields()} {
		data, err := json.Marshal(fields)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add(`{"applications":["pharos.dev/lease=a/b/1/c/0001-01-01T00:00:00Z"],"duration":"2562047h"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var stands argo.Window
		if json.Unmarshal([]byte(text), &stands) != nil {
			return
		}
		m, err := stands.Mark()
		if err != nil || m == nil {
			return
		}
		got, wrong := read(stands, *m)
		if len(wrong) > 0 || m.Ended {
			return
		}
		a := application(t, `{"metadata":{"name":"api"}}`)
		for _, at := range []time.Time{m.End.Add(-time.Second), m.End, m.End.Add(time.Second)} {
			denies := len(got.names) > 0 && at.Before(m.End) && at.After(got.start)
			a.Metadata.Name = "api"
			if len(got.names) > 0 {
				a.Metadata.Name = got.names[0]
			}
			if strings.ContainsAny(a.Metadata.Name, `*?[]{}!\,`) || m.End.Sub(got.start) > longest {
				continue
			}
			if closed := argo.Blocking([]argo.Window{stands}, a, at); (closed != nil) != denies {
				t.Errorf("at %s it denies: %t, want %t", at, closed != nil, denies)
			}
		}
	})
}
