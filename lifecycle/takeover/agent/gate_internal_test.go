package agent

import (
	"strings"
	"testing"
	"time"
)

// The silence of a workstation is measured by the monotonic clock from its last sign of life on: a wall clock that is set has
// callers neither wait for longer, nor be refused at once.
func TestWallClockIsSet(t *testing.T) {
	t.Parallel()
	g, s := newGate(time.Minute), &stream{pulse: newPulse(nil, time.Hour)}
	g.enter(s)
	g.serve(s, true)
	before := time.Now()
	s.pulse.live()
	after := time.Now()
	g.leave(s)
	if g.since.Before(before) || g.since.After(after) {
		t.Errorf("nobody serves since %s, and the last sign of life was between %s and %s", g.since, before, after)
	}
	if !strings.Contains(g.since.String(), " m=") {
		t.Errorf("it is measured by the wall clock: %s", g.since)
	}
}
