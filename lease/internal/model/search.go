package model

import (
	"fmt"
	"strings"
)

// move is one step of one actor, and the state that it leads to.
type move struct {
	who  string
	what string
	next state
	// broken is the invariant that the step itself breaks, if any.
	broken invariant
}

// exploration is what was found of a machine.
type exploration struct {
	states int
	depth  int
	// broken has the shortest way to each invariant that can be broken.
	broken map[invariant]trace
}

// trace is the steps that lead to where an invariant is broken.
type trace []string

func (t trace) String() string { return strings.Join(t, "\n") }

// explore visits every state that m can reach, those with fewer steps first,
// and tells of each invariant that can be broken the shortest way to it. It
// ends early when all of stop are broken.
func (m machine) explore(stop ...invariant) exploration {
	e := exploration{broken: map[invariant]trace{}}
	type visit struct {
		state  state
		before int32
	}
	visits := []visit{{m.start(), -1}}
	seen := map[state]struct{}{visits[0].state: {}}
	way := func(i int32, last move) trace {
		var t trace
		t = append(t, last.String())
		for v := visits[i]; v.before >= 0; v = visits[v.before] {
			for _, before := range m.moves(visits[v.before].state) {
				if before.next == v.state {
					t = append(t, before.String())
					break
				}
			}
		}
		for a, b := 0, len(t)-1; a < b; a, b = a+1, b-1 {
			t[a], t[b] = t[b], t[a]
		}
		return t
	}
	known := recovery{}
	level := int32(0) // where the states begin that are a step further away
	for i := int32(0); int(i) < len(visits); i++ {
		if i == level {
			e.depth++
			level = int32(len(visits))
		}
		s := visits[i].state
		moves := m.moves(s)
		if m.stuck(s, known) {
			moves = append(moves, move{who: "all", what: "crash, time passes, and one sweeper runs", next: s, broken: leak})
		}
		for _, mv := range moves {
			if mv.broken != "" && e.broken[mv.broken] == nil {
				e.broken[mv.broken] = way(i, mv)
				if e.brokenAll(stop) {
					e.states = len(visits)
					return e
				}
			}
			if _, ok := seen[mv.next]; !ok {
				seen[mv.next] = struct{}{}
				visits = append(visits, visit{mv.next, i})
			}
		}
	}
	e.states = len(visits)
	return e
}

func (e exploration) brokenAll(list []invariant) bool {
	for _, i := range list {
		if e.broken[i] == nil {
			return false
		}
	}
	return len(list) > 0
}

func (mv move) String() string {
	text := fmt.Sprintf("%-8s %-60s %s", mv.who, mv.what, mv.next)
	if mv.broken != "" {
		text += "\n!! " + string(mv.broken)
	}
	return text
}
