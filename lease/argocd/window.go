package argocd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lease"
)

// window is a window of a lease, as it is written into a project.
type window struct {
	mark  argo.Mark
	names []string  // sorted
	start time.Time // in whole minutes
	// text is for people. Not every version of Argo CD keeps it.
	text string
}

// backdated is how long ago a window starts at least, for controllers whose
// clocks are behind: until it has started by their clock, it denies nothing.
const backdated = time.Minute

// newWindow is the window of a claim.
func newWindow(c lease.Claim, names []string) window {
	return window{
		mark:  markOf(c),
		names: slices.Sorted(slices.Values(names)),
		start: c.Now.UTC().Truncate(time.Minute).Add(-backdated),
		text:  describe(c),
	}
}

func markOf(c lease.Claim) argo.Mark {
	return argo.Mark{Namespace: c.Namespace, Target: c.Target, Token: c.Token, Holder: c.Holder, End: c.Until.UTC()}
}

// ended is what becomes of a window when its lease is over: it denies nothing,
// whatever the controller's clock says, and stands for what is to be restored.
func (w window) ended(at time.Time) window {
	w.mark.Ended = true
	if at = at.UTC().Truncate(time.Second); at.Before(w.mark.End) {
		w.mark.End = at
	}
	return w
}

// schedule has no year. A window that is forgotten denies once a year, except
// for one that has ended.
func (w window) schedule() string {
	return fmt.Sprintf("%d %d %d %d *", w.start.Minute(), w.start.Hour(), w.start.Day(), w.start.Month())
}

// duration is such that the window ends exactly at its end, though its start is
// in whole minutes. Argo CD takes a window without a duration for one that is
// never active.
func (w window) duration() string {
	if w.mark.Ended {
		return "0s"
	}
	return w.mark.End.Sub(w.start).String()
}

// among moves the start back until no other window has the same kind, schedule
// and duration: Argo CD before 3.2 takes such for duplicates, and lets nobody
// edit a project with duplicates.
func (w window) among(others []argo.Window) window {
	for slices.ContainsFunc(others, func(o argo.Window) bool {
		return o.Kind == "deny" && o.Schedule == w.schedule() && o.Duration == w.duration()
	}) {
		w.start = w.start.Add(-time.Minute)
	}
	return w
}

func (w window) fields() map[string]any {
	f := map[string]any{
		"kind":         "deny",
		"schedule":     w.schedule(),
		"duration":     w.duration(),
		"timeZone":     "UTC",
		"manualSync":   false,
		"applications": append(anyOf(w.names), w.mark.String()),
	}
	if w.text != "" {
		f["description"] = w.text
	}
	return f
}

func anyOf(names []string) []any {
	list := make([]any, len(names))
	for i, n := range names {
		list[i] = n
	}
	return list
}

// read reads a window with that mark as it stands, and says what of it is not as
// Pharos writes it. When one that has ended started is not known any more.
func read(stands argo.Window, mark argo.Mark) (window, []string) {
	w := window{mark: mark, names: stands.Names()}
	var f map[string]any
	if err := json.Unmarshal(stands.Raw, &f); err != nil {
		return w, []string{err.Error()}
	}
	w.text, _ = f["description"].(string)
	duration, err := time.ParseDuration(stands.Duration)
	if err != nil {
		return w, []string{fmt.Sprintf("its duration is %q", stands.Duration)}
	}
	var wrong []string
	if w.start = mark.End.Add(-duration); mark.Ended && stands.Duration != w.duration() {
		wrong = append(wrong, fmt.Sprintf("it has ended, and lasts %s", stands.Duration))
	} else if !mark.Ended && (w.schedule() != stands.Schedule || w.duration() != stands.Duration || !w.start.Equal(w.start.Truncate(time.Minute))) {
		wrong = append(wrong, fmt.Sprintf("it starts at %q and lasts %s, which does not end at %s", stands.Schedule, stands.Duration, mark.End.Format(time.RFC3339)))
	}
	want := w.fields()
	for _, key := range slices.Sorted(maps.Keys(merged(want, f))) {
		switch key {
		case "schedule", "duration", "description":
			continue
		}
		if !argo.SameFields(map[string]any{key: f[key]}, map[string]any{key: want[key]}) {
			wrong = append(wrong, fmt.Sprintf("%s is %s, not %s", key, shown(f[key]), shown(want[key])))
		}
	}
	return w, wrong
}

func merged(a, b map[string]any) map[string]any {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

func shown(v any) string {
	if v == nil {
		return "absent"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// maxText is what Argo CD allows in a description, in bytes.
const maxText = 255

// describe says to who looks at the project whose window it is.
func describe(c lease.Claim) string {
	text := "Pharos: borrowed"
	if c.User != "" {
		text += " by " + c.User
	}
	if c.Purpose != "" {
		text += ": " + c.Purpose
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	for len(text) > maxText {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
