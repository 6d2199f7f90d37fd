package workstation_test

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// The guardian is killed at the steps that matter most. What it has left is gone on with,
// or handed back, or ends with its lease where nobody comes back, and the service is what
// it was.
func TestNodeGuardianKilled(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	endings := []struct {
		name string
		end  func(journal.Step)
	}{
		{"resume", k.resume},
		{"hand back", func(journal.Step) { k.finish() }},
		{"nobody", func(journal.Step) { k.wholeAgain() }},
	}
	steps := []journal.Step{journal.Leased, journal.Recorded, journal.Diverted, journal.Serving, journal.HandingBack, journal.Restored}
	for i, step := range steps {
		for j, e := range endings {
			if !sizetest.Full() && (i+j)%len(endings) != 2 {
				continue // each step has one ending, and a lost laptop is one that served
			}
			t.Logf("%s, %s", step, e.name)
			k.diesAt(step, e.name == "nobody")
			e.end(step)
			k.whole()
		}
	}
}

// resume goes on with what a killed guardian has left, and hands back, if that had not
// begun.
func (k *killing) resume(step journal.Step) {
	k.t.Helper()
	if step == journal.HandingBack || step == journal.Restored {
		if killtest.Run(k.t, k.role) {
			k.t.Error("it was killed once more")
		}
		return
	}
	client := k.guardian(k.role)
	k.answers("v2 workstation false ")
	if err := client.HandBack(k.t.Context()); err != nil {
		k.t.Errorf("hand back: %v", err)
	}
}
