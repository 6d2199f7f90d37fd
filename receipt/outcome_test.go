package receipt_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/receipt"
)

// argo is an outcome that saw a root Application and its child.
func argo() receipt.Outcome {
	o := live()
	o.Applications = []receipt.Application{
		{
			Namespace: "argocd", Name: "devbox", UID: "u-2", Project: "devbox", Revisions: []string{strings.Repeat("1", 40)},
			Sync: "Synced", Health: "Healthy", Operation: "Succeeded", Message: "successfully synced",
			Finished: time.Date(2026, 3, 4, 5, 6, 6, 0, time.UTC), Reconciled: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
			Images: []string{"r/api@" + digest("5"), "r/web@" + digest("4")}, Conditions: []string{"OrphanedResourceWarning: one"},
		},
		{Namespace: "argocd", Name: "shop"},
	}
	return o
}

// completed is an outcome that saw two Jobs complete.
func completed() receipt.Outcome {
	o := live()
	o.Type, o.Objects = receipt.OutcomeCompleted, nil
	for _, name := range []string{"migrate", "seed"} {
		o.Jobs = append(o.Jobs, receipt.Object{Group: "batch", Version: "v1", Kind: "Job", Resource: "jobs", Namespace: "shop", Name: name, Hash: digest("6")})
	}
	return o
}

// What an outcome saw reads back as it was written, its times in UTC; the
// outcome that was written stays as the caller has it.
func TestOutcomeReadsBack(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]receipt.Outcome{"live": live(), "argo": argo(), "completed": completed()} {
		elsewhere := o
		zone := time.FixedZone("", 3600)
		elsewhere.Time = o.Time.In(zone)
		if len(o.Applications) > 0 {
			elsewhere.Applications = append([]receipt.Application(nil), o.Applications...)
			elsewhere.Applications[0].Finished = o.Applications[0].Finished.In(zone)
		}
		data, err := elsewhere.Canonical()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := receipt.ParseOutcome(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(o, got); diff != "" {
			t.Errorf("%s does not read back:\n%s", name, diff)
		}
		if name == "argo" && elsewhere.Applications[0].Finished.Location() != zone {
			t.Error("Canonical changed the outcome that it was asked of")
		}
		s := o.Summary()
		if s.Objects != nil || s.Applications != nil || s.Jobs != nil || s.Type != o.Type || s.Operation != o.Operation {
			t.Errorf("%s: its summary is %+v", name, s)
		}
	}
}

func TestOutcomeValidate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome receipt.Outcome
		change  func(*receipt.Outcome)
		fields  []string
	}{
		"zero":                {change: func(*receipt.Outcome) {}, fields: []string{"type", "time", "operation"}},
		"object":              {live(), func(o *receipt.Outcome) { o.Objects[0].UID = "" }, []string{"objects[0].uid"}},
		"application":         {argo(), func(o *receipt.Outcome) { o.Applications[1] = receipt.Application{} }, []string{"applications[1].namespace", "applications[1].name"}},
		"application twice":   {argo(), func(o *receipt.Outcome) { o.Applications[1].Name = "devbox" }, []string{"applications[1].name"}},
		"same name elsewhere": {argo(), func(o *receipt.Outcome) { o.Applications[1].Name, o.Applications[1].Namespace = "devbox", "other" }, nil},
		"words": {argo(), func(o *receipt.Outcome) {
			a := &o.Applications[0]
			a.Project, a.Revisions[0], a.Sync, a.Health, a.Operation, a.Conditions[0] = "a b", "", "a\n", "\x7f", "\xff", ""
		}, []string{
			"applications[0].project", "applications[0].revisions[0]", "applications[0].sync", "applications[0].health",
			"applications[0].operation", "applications[0].conditions[0]",
		}},
		"images": {argo(), func(o *receipt.Outcome) { a := &o.Applications[0]; a.Images[1] = a.Images[0] }, []string{"applications[0].images[1]"}},
		"times": {argo(), func(o *receipt.Outcome) {
			o.Applications[0].Finished = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
			o.Applications[0].Reconciled = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)
		}, []string{"applications[0].finished", "applications[0].reconciled"}},
		"its summary":  {completed(), func(o *receipt.Outcome) { *o = o.Summary() }, nil},
		"jobs of live": {completed(), func(o *receipt.Outcome) { o.Type = receipt.OutcomeLive }, []string{"jobs"}},
		"jobs' order":  {completed(), func(o *receipt.Outcome) { o.Jobs[1].Name = "a" }, []string{"jobs[1]"}},
		"job's hash":   {completed(), func(o *receipt.Outcome) { o.Jobs[1].Hash = "" }, []string{"jobs[1].hash"}},
	} {
		tc.change(&tc.outcome)
		err := tc.outcome.Validate()
		var fields []string
		if invalid, ok := errors.AsType[*receipt.InvalidError](err); ok {
			for _, f := range invalid.Findings {
				fields = append(fields, f.Field)
			}
		}
		if diff := cmp.Diff(tc.fields, fields); diff != "" {
			t.Errorf("%s: findings differ:\n%s\n%v", name, diff, err)
		}
		if _, cerr := tc.outcome.Canonical(); errors.Is(cerr, receipt.ErrInvalid) != (len(tc.fields) > 0) {
			t.Errorf("%s: Canonical: %v", name, cerr)
		}
	}
}
