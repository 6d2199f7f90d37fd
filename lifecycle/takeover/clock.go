package takeover

import "time"

// Clock is a machine's clock. Implementations are safe for concurrent use.
type Clock interface {
	Now() time.Time
	// Awake is for how long the machine was not asleep, since any moment that stays the
	// same. It never goes back.
	Awake() time.Duration
	// After sends the time when d has passed.
	After(d time.Duration) <-chan time.Time
}

// machine is the clock of this machine: the monotonic one stands still while it sleeps.
type machine struct{ began time.Time }

func newClock() machine { return machine{time.Now()} }

func (machine) Now() time.Time                         { return time.Now() }
func (m machine) Awake() time.Duration                 { return time.Since(m.began) }
func (machine) After(d time.Duration) <-chan time.Time { return time.After(d) }

// moment is a time by both clocks.
type moment struct {
	wall  time.Time
	awake time.Duration
}

func now(c Clock) moment { return moment{c.Now().Round(0), c.Awake()} }

// jump is by how much more the wall clock may move than the monotonic one before the
// machine is taken to have slept.
const jump = 2 * time.Second

// sleptSince says whether the wall clock moved otherwise than the monotonic one.
func (m moment) sleptSince(earlier moment) bool {
	asleep := m.wall.Sub(earlier.wall) - (m.awake - earlier.awake)
	return asleep > jump || asleep < -jump
}
