package agent

import (
	"strings"
	"testing"
	"time"
)

// A wall clock that is set has callers neither wait for a workstation that is gone for
// longer than they should, nor be refused by a time that is measured anew.
func TestWallClockIsSet(t *testing.T) {
	t.Parallel()
	const away = 20 * time.Second
	for name, life := range map[string]time.Duration{"an hour back": time.Hour, "an hour on": -time.Hour, "not": -5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, s := newGate(away), &stream{}
			g.enter(s)
			g.serve(s, true)
			before := time.Now()
			g.leave(s, before.Add(life).Round(0)) // as one that was kept as a number
			if left := g.since.Add(away).Sub(before); left < 0 || left > away+time.Since(before) {
				t.Errorf("callers wait for %s more", left)
			}
			if !strings.Contains(g.since.String(), " m=") {
				t.Errorf("it is measured by the wall clock: %s", g.since)
			}
		})
	}
}
