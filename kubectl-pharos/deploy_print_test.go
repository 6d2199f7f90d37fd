package main

import (
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Where the preparation has written something, it is not said that nothing was.
func TestWhatAPreparationHasWritten(t *testing.T) {
	t.Parallel()
	same, made := lifecycle.Change{Type: lifecycle.ChangeUnchanged}, lifecycle.Change{Type: lifecycle.ChangeCreated}
	for want, f := range map[string]deliveryFields{
		"nothing":                     {Steps: []lifecycle.StepResult{{Changes: []lifecycle.Change{same, same}}, {Skipped: true}}},
		"nothing but the preparation": {Steps: []lifecycle.StepResult{{Changes: []lifecycle.Change{same}}, {Changes: []lifecycle.Change{same, made}}}},
	} {
		if got := f.nothing(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if f.DryRun = true; f.nothing() != "nothing" {
			t.Errorf("a dry run has written %q", f.nothing())
		}
	}
}
