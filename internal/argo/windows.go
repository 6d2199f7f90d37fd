package argo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Project is what is read of an AppProject.
type Project struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Permissions
		// SyncWindows is nil where the project has no list of them.
		SyncWindows []Window `json:"syncWindows"`
		// SourceNamespaces are globs of namespaces, beside Argo CD's own, whose
		// Applications may be of the project.
		SourceNamespaces []string `json:"sourceNamespaces"`
	} `json:"spec"`
}

// String is how messages name a project.
func (p *Project) String() string { return ProjectName(p.Metadata.Namespace, p.Metadata.Name) }

// ProjectName is how messages name a project: "AppProject argocd/shop".
func ProjectName(namespace, name string) string { return KindProject + " " + namespace + "/" + name }

// Window is a time in which syncs are allowed, or are not.
type Window struct {
	Kind         string   `json:"kind"`     // "allow" or "deny"
	Schedule     string   `json:"schedule"` // five fields of cron
	Duration     string   `json:"duration"` // of Go, "2h"
	Applications []string `json:"applications"`
	Namespaces   []string `json:"namespaces"`
	Clusters     []string `json:"clusters"`
	ManualSync   bool     `json:"manualSync"`
	TimeZone     string   `json:"timeZone"`
	AndOperator  bool     `json:"andOperator"`
	// Raw is the window as it stands, with the fields that are not known here.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON reads a window and keeps its text.
func (w *Window) UnmarshalJSON(data []byte) error {
	type fields Window
	if err := json.Unmarshal(data, (*fields)(w)); err != nil {
		return err
	}
	w.Raw = bytes.Clone(data)
	return nil
}

// Closed says that windows keep an Application from being synced.
type Closed struct {
	Window Window
	// Until is when the window ends, or for a window that allows, when it
	// begins. Zero for one that never ends.
	Until time.Time
	// Manual says that an operation which somebody asks for passes.
	Manual bool
	Reason string
}

// Blocking returns what keeps an Application from being synced at a time, nil
// if nothing does: an active window that denies, or only windows that allow and
// none that is active. A window that cannot be read blocks everything that it
// is for, as it does in Argo CD.
func Blocking(windows []Window, a *Application, at time.Time) *Closed {
	var deny, waiting *Closed
	allowed := false
	for _, w := range windows {
		if !w.matches(a) {
			continue
		}
		active, change, err := w.active(at)
		switch {
		case err != nil:
			return &Closed{Window: w, Reason: fmt.Sprintf("a sync window of its project cannot be read: %v", err)}
		case w.Kind == "deny" && active:
			until := "until " + change.UTC().Format(time.RFC3339)
			if change.IsZero() {
				until = "always, since its date never comes"
			}
			deny = merge(deny, &Closed{Window: w, Until: change, Manual: w.ManualSync,
				Reason: fmt.Sprintf("the sync window %s of its project denies syncs %s", w, until)})
		case w.Kind == "allow" && active:
			allowed = true
		case w.Kind == "allow":
			waiting = merge(waiting, &Closed{Window: w, Until: change, Manual: w.ManualSync,
				Reason: fmt.Sprintf("its project allows syncs in the window %s only, which begins at %s", w, change.UTC().Format(time.RFC3339))})
		}
	}
	switch {
	case deny != nil:
		return deny
	case allowed:
		return nil
	}
	return waiting
}

// merge keeps the stricter of two windows, or else the one that ends later.
func merge(a, b *Closed) *Closed {
	switch {
	case a == nil:
		return b
	case a.Manual != b.Manual:
		if a.Manual {
			return b
		}
		return a
	case !a.Until.IsZero() && (b.Until.IsZero() || b.Until.After(a.Until)):
		return b
	}
	return a
}

// String is how messages name a window: "deny 0 22 * * * for 8h".
func (w Window) String() string {
	text := fmt.Sprintf("%q %s for %s", w.Schedule, w.Kind, w.Duration)
	if w.TimeZone != "" {
		text += " (" + w.TimeZone + ")"
	}
	return text
}

// matches is Argo CD's rule: of the lists that are set one has to match, or all
// with andOperator.
func (w Window) matches(a *Application) bool {
	d := a.Spec.Destination
	lists := []struct {
		globs []string
		names []string
	}{
		{w.Applications, []string{a.Metadata.Name}},
		{w.Clusters, []string{d.Name, d.Server}},
		{w.Namespaces, []string{d.Namespace}},
	}
	set, matched := 0, 0
	for i, l := range lists {
		if len(l.globs) == 0 {
			continue
		}
		set++
		// Argo CD takes a cluster without a name for none, a namespace
		// without one for a name.
		if anyGlob(l.globs, l.names, i != 1) {
			matched++
		}
	}
	if w.AndOperator {
		return set > 0 && matched == set
	}
	return matched > 0
}

func anyGlob(globs, names []string, empty bool) bool {
	for _, g := range globs {
		for _, n := range names {
			if (n != "" || empty) && glob(g, n, "") {
				return true
			}
		}
	}
	return false
}

// active says whether the window is open at a time, and when that changes: zero
// if it never does.
func (w Window) active(at time.Time) (bool, time.Time, error) {
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(w.Schedule)
	if err != nil {
		return false, time.Time{}, fmt.Errorf("schedule %q: %w", w.Schedule, err)
	}
	duration, err := time.ParseDuration(w.Duration)
	if err != nil {
		return false, time.Time{}, fmt.Errorf("duration %q: %w", w.Duration, err)
	}
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	// The offset is that of now, as in Argo CD.
	_, seconds := at.In(zone).Zone()
	offset := time.Duration(seconds) * time.Second
	local := at.UTC().Add(offset)
	start := schedule.Next(local.Add(-duration))
	if start.IsZero() {
		return true, time.Time{}, nil // a date that never comes: Argo CD takes it for one long ago
	}
	if !start.Before(local) {
		return false, start.Add(-offset), nil
	}
	// One that begins again before it ends goes on.
	end := start.Add(duration)
	for range 1000 {
		next := schedule.Next(start)
		if next.IsZero() || next.After(end) {
			break
		}
		start, end = next, next.Add(duration)
	}
	return true, end.Add(-offset), nil
}
