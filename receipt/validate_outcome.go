package receipt

import (
	"fmt"
	"slices"
	"time"
)

var outcomeTypes = []OutcomeType{OutcomeAttempt, OutcomeLive, OutcomeFailed, OutcomeSuperseded, OutcomeCompleted}

// Validate checks the outcome against every rule of the format and reports all
// that it breaks in one *InvalidError, which is an ErrInvalid.
func (o Outcome) Validate() error {
	var f findings
	if !slices.Contains(outcomeTypes, o.Type) {
		f.add("type", "%q is none of %v", clip(string(o.Type)), outcomeTypes)
	}
	if !storable(o.Time) {
		f.add("time", "is missing or out of the years 1 to 9999")
	}
	f.word("operation", o.Operation, true)
	f.text("actor", o.Actor, false)
	f.text("reason", o.Reason, false)
	f.seen(o.Objects)
	f.applications(o.Applications)
	f.objects("jobs", o.Jobs)
	if o.Type != OutcomeCompleted && len(o.Jobs) > 0 {
		f.add("jobs", "is only for outcomes of the type %s", OutcomeCompleted)
	}
	return f.err("outcome")
}

// storable reports whether a time has a form in RFC 3339 and is not zero.
func storable(t time.Time) bool {
	y := t.UTC().Year()
	return !t.IsZero() && y >= 1 && y <= 9999
}

func (f *findings) seen(objects []Seen) {
	for i, s := range objects {
		at := fmt.Sprintf("objects[%d].", i)
		f.word(at+"group", s.Group, false)
		f.word(at+"kind", s.Kind, true)
		f.word(at+"namespace", s.Namespace, false)
		f.text(at+"name", s.Name, true)
		f.word(at+"uid", s.UID, true)
		f.digest(at+"owned", s.Owned)
	}
}

func (f *findings) applications(applications []Application) {
	type key struct{ namespace, name string }
	known := map[key]bool{}
	for i, a := range applications {
		at := fmt.Sprintf("applications[%d].", i)
		f.word(at+"namespace", a.Namespace, true)
		f.word(at+"name", a.Name, true)
		if k := (key{a.Namespace, a.Name}); known[k] {
			f.add(at+"name", "%q is there twice", clip(a.Namespace+"/"+a.Name))
		} else {
			known[k] = true
		}
		f.word(at+"uid", a.UID, false)
		f.word(at+"project", a.Project, false)
		// Argo CD reads revisions from charts and registries too, so that they
		// need not be object IDs of Git.
		f.words(at+"revisions", a.Revisions)
		f.word(at+"sync", a.Sync, false)
		f.word(at+"health", a.Health, false)
		f.word(at+"operation", a.Operation, false)
		f.text(at+"message", a.Message, false)
		f.second(at+"finished", a.Finished)
		f.second(at+"reconciled", a.Reconciled)
		f.words(at+"images", a.Images)
		f.sorted(at+"images", a.Images)
		for j, c := range a.Conditions {
			f.text(fmt.Sprintf("%sconditions[%d]", at, j), c, true)
		}
	}
}

// words wants words, none of them empty.
func (f *findings) words(field string, list []string) {
	for i, s := range list {
		f.word(fmt.Sprintf("%s[%d]", field, i), s, true)
	}
}

// second wants a time that is zero or that the format can hold.
func (f *findings) second(field string, t time.Time) {
	if !t.IsZero() && !storable(t) {
		f.add(field, "is out of the years 1 to 9999")
	}
}
