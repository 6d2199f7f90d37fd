package model

import (
	"maps"
	"slices"
	"testing"

	"github.com/pharos-dev/pharos/internal/sizetest"
)

// bare is a protocol without a gate whose holders write without a precondition.
// A guarded write may take as long as the package comment says: margin, grace and
// a second.
func bare() machine {
	return machine{procs: 2, second: 2, duration: 3, margin: 1, grace: 1, writes: true, delay: 2 * 3}
}

// slow is a bare protocol whose clocks tell nothing less than a second.
func slow() machine {
	return machine{procs: 2, second: 1, duration: 3, margin: 1, grace: 1, writes: true, delay: 3}
}

// tested is one whose holders write with a precondition, at any time.
func tested() machine {
	return machine{procs: 2, second: 1, duration: 2, margin: 1, grace: 1, writes: true, precondition: true}
}

// gated is one with a gate.
func gated() machine {
	return machine{procs: 2, second: 1, duration: sizetest.Of[int8](2, 3), margin: 1, grace: 1, gate: true, sweeps: 1}
}

func with(m machine, change func(*machine)) machine {
	change(&m)
	return m
}

// With all that may go wrong, nothing does.
func TestProtocol(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]machine{
		"answers and writes that are lost or late": with(bare(), func(m *machine) {
			m.faults, m.loses, m.lates = sizetest.Of[int8](1, 3), true, true
		}),
		"machines that sleep": with(slow(), func(m *machine) {
			m.faults, m.loses, m.lates, m.sleeps = sizetest.Of[int8](2, 4), true, true, true
		}),
		"a lease that is broken": with(bare(), func(m *machine) {
			m.breaks = true
			m.delay -= m.margin * m.second
		}),
		"a Lease that is deleted": with(tested(), func(m *machine) {
			m.faults, m.deletes, m.loses, m.lates = 2, true, true, true
		}),
		"API servers whose clocks differ": with(bare(), func(m *machine) {
			m.ahead = 1
			m.delay -= m.ahead * m.second
		}),
		"writes that carry a precondition": with(tested(), func(m *machine) {
			m.faults, m.loses, m.lates, m.sleeps, m.abandons = 1, true, true, true, true
			m.breaks = sizetest.Of(false, true)
		}),
		"three processes": with(tested(), func(m *machine) { m.procs = 3 }),
		"a gate": with(gated(), func(m *machine) {
			m.duration, m.faults, m.loses, m.lates, m.opens = 2, sizetest.Of[int8](0, 1), true, true, true
		}),
		"a gate whose lease is broken": with(gated(), func(m *machine) {
			m.breaks = true
		}),
		"a gate whose Lease is deleted": with(gated(), func(m *machine) {
			m.faults, m.deletes, m.lates = 1, true, true
		}),
		"a gate of machines that sleep": with(gated(), func(m *machine) {
			m.faults, m.sleeps = sizetest.Of[int8](1, 2), true
		}),
		"a gate whose holder is killed": with(gated(), func(m *machine) {
			m.faults, m.resumes = sizetest.Of[int8](1, 2), true
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := m.explore()
			t.Logf("%d states, %d steps deep", e.states, e.depth)
			for i, way := range e.broken {
				t.Errorf("%s:\n%s", i, way)
			}
		})
	}
}

// Whatever rule the protocol does without, something goes wrong.
func TestRules(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[rule]struct {
		machine machine
		breaks  invariant
	}{
		theGrace:           {bare(), lateWrite},
		theMargin:          {bare(), lateWrite},
		theResourceVersion: {with(bare(), func(m *machine) { m.delay = 0 }), lateWrite},
		theRecheck:         {with(bare(), func(m *machine) { m.faults, m.sleeps = 1, true }), moved},
		theKnownEnd:        {with(slow(), func(m *machine) { m.duration, m.faults, m.lates, m.sleeps = 4, 2, true, true }), resurrected},
		theRestoredEnd:     {with(bare(), func(m *machine) { m.faults, m.sleeps = 1, true }), lateWrite},
		theEndOfBroken:     {with(bare(), func(m *machine) { m.breaks, m.delay = true, 0 }), lateWrite},
		thePrecondition:    {tested(), interleaved},
		theFirstToken:      {with(tested(), func(m *machine) { m.procs, m.faults, m.deletes = 3, 1, true }), interleaved},
		theTokenRule:       {gated(), swept},
		theLeftOverRule:    {gated(), leak},
		theOrder:           {with(gated(), func(m *machine) { m.duration = 6 }), unguarded},
	} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			m := tc.machine
			m.without = rule
			e := m.explore(tc.breaks)
			way := e.broken[tc.breaks]
			if way == nil {
				t.Fatalf("without %s, %d states hold: %v", rule, e.states, slices.Collect(maps.Keys(e.broken)))
			}
			t.Logf("without %s, %s:\n%s", rule, tc.breaks, way)
		})
	}
}

// What the package comment says that the protocol cannot prevent happens, and
// nothing else.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		machine machine
		breaks  []invariant
	}{
		"a write that is longer on its way": {with(bare(), func(m *machine) { m.delay++ }), []invariant{lateWrite}},
		"API servers whose clocks differ by more": {with(bare(), func(m *machine) {
			m.ahead = 1
			m.delay -= m.ahead*m.second - 1
		}), []invariant{lateWrite}},
		"a write that is longer on its way when the lease is broken": {with(bare(), func(m *machine) {
			m.breaks = true
			m.delay -= m.margin*m.second - 1
		}), []invariant{lateWrite}},
		"a write on its way when the lease is released": {with(bare(), func(m *machine) { m.abandons = true }), []invariant{lateWrite}},
		"a write on its way when the Lease is deleted":  {with(bare(), func(m *machine) { m.faults, m.deletes = 1, true }), []invariant{lateWrite}},
		"a release on its way when the lease is taken up": {with(slow(), func(m *machine) {
			m.duration, m.faults, m.resumes, m.lates = 2, 2, true, true
		}), []invariant{lateWrite}},
		"a lease that is taken up after a renewal that came too late": {with(slow(), func(m *machine) {
			m.duration, m.faults, m.resumes = 4, 1, true
		}), []invariant{resurrected}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := tc.machine.explore()
			for _, i := range tc.breaks {
				if e.broken[i] == nil {
					t.Errorf("%d states hold: never %s", e.states, i)
				}
			}
			for i, way := range e.broken {
				if !slices.Contains(tc.breaks, i) {
					t.Errorf("%s:\n%s", i, way)
				}
				t.Logf("%s:\n%s", i, way)
			}
		})
	}
}
