package model

// close is Held.tryToClose and Gate.Close.
func (m machine) close(g *moves, s state, p int) {
	q, who := s.procs[p], names[p]
	abandon := func(s state) state { // Held.abandon: what Release does
		s.procs[p].at, s.procs[p].lost = opening, true
		return s
	}
	if q.at != closing {
		g.add(who, "Acquire: finds that something is being written, and gives up", abandon(s), "")
	}
	switch q.at {
	case closing:
		m.check(s, p, func(n state, ok bool) {
			if !ok {
				g.add(who, "Acquire: finds that the lease is lost", abandon(n), "")
				return
			}
			n.procs[p].at = shutting
			g.add(who, "Acquire: may close the gate", n, "")
		})
	case shutting:
		w := window{true, q.token, q.known + 2*m.grace}
		n := s
		n.putWindow(p, w)
		n.procs[p].at = shut
		g.add(who, "Acquire: closes the gate", n, "")
		if m.lates && s.lateWindow.holder == 0 {
			n := s
			n.lateWindow = lateWindow{int8(p + 1), w, true}
			n.procs[p].at = closing
			g.fault(who, "Acquire: closes the gate, without an answer, and not yet", n)
		}
	case shut:
		m.check(s, p, func(n state, ok bool) {
			if !ok {
				g.add(who, "Acquire: finds that the lease is lost", abandon(n), "")
				return
			}
			n.procs[p].at = held
			g.add(who, "Acquire: has the lease, and the gate is closed", n, "")
		})
	}
}

// open is Gate.Open of p's window, and what comes after it.
func (m machine) open(g *moves, s state, p int, what string) {
	q, w := s.procs[p], s.windows[p]
	n := s
	if q.at != removing && w.there {
		w.left = min(0, w.left)
		n.putWindow(p, w)
		n.procs[p].at = removing
		g.add(names[p], what+": ends its window", n, "")
		return
	}
	if w.there {
		n.putWindow(p, window{})
	}
	if n.procs[p].at = held; q.lost {
		n.procs[p].at = freeing
	}
	g.add(names[p], what+": removes its window", n, "")
}

// sweeper is Manager.Sweep, by somebody who does not hold the lease. A window is
// found by its holder and token, and what is done to it is decided anew after each
// conflict, so that a write is one step.
func (m machine) sweeper(g *moves, s state) {
	if !m.gate {
		return
	}
	const who = "sweeper"
	n := s
	switch c := &n.sweep; c.at {
	case resting:
		if s.sweeps == 0 {
			return
		}
		for _, ahead := range m.dates() {
			n := s
			n.sweeps--
			c := &n.sweep
			if c.at, c.token = claiming, s.lease.token; m.held(s.lease, ahead) && !s.lease.broken {
				c.holder = s.lease.holder
			}
			c.now = ahead
			g.add(who, "Sweep: reads the lease", n, "")
		}
	case claiming:
		for p := range m.procs {
			w, mine := s.windows[p], c.holder == int8(p+1)
			left := w.left <= c.now || w.token == c.token && !mine
			if w.there && (w.token < c.token || left && m.without != theLeftOverRule || !mine && m.without == theTokenRule) {
				c.found |= 1 << p
			}
		}
		if c.at = ending; c.found == 0 {
			c.at = resting
		}
		g.add(who, "Sweep: finds what is left over", n, "")
	case ending:
		var i invariant
		for p := range m.procs {
			if w := s.windows[p]; c.found&(1<<p) != 0 && w.there {
				if w.left > 0 && s.lease.holder == int8(p+1) && s.lease.token == w.token && !s.procs[p].over && !s.procs[p].lost {
					i = swept
				}
				w.left = min(0, w.left)
				n.putWindow(p, w)
			}
		}
		c.at = sweeping
		g.add(who, "Sweep: ends the windows", n, i)
	case sweeping:
		for p := range m.procs {
			if c.found&(1<<p) != 0 && s.windows[p].there {
				n.putWindow(p, window{})
			}
		}
		*c = sweep{}
		g.add(who, "Sweep: removes the windows", n, "")
	}
}

// breaker is Manager.Break. What it has the gate sweep then is left to the sweeper:
// it may be killed before.
func (m machine) breaker(g *moves, s state) {
	const who = "breaker"
	switch {
	case !m.breaks:
	case s.breaking.at == before || s.breaking.at == breakingUp && !s.breaking.fresh:
		if m.held(s.lease, 0) && !s.lease.broken {
			n := s
			n.breaking = breaking{breakingUp, true}
			g.add(who, "Break: reads who holds the lease", n, "")
		}
	case s.breaking.at == breakingUp:
		n := s
		broken := s.lease
		broken.left, broken.broken = min(1, broken.left), true
		if m.without == theEndOfBroken {
			broken = record{token: s.lease.token, left: m.floor()}
		}
		n.put(broken)
		n.procs[s.lease.holder-1].over = true
		n.breaking = breaking{at: broke}
		g.add(who, "Break: ends the lease", n, "")
	}
}

// deleter deletes the Lease. One that is not there is as one that is free, since the
// next holder's token is higher than all before, and so is that by which Sweep judges.
func (m machine) deleter(g *moves, s state) {
	if !m.deletes || s.lease == (record{token: s.lease.token, left: m.floor()}) {
		return
	}
	n := s
	n.put(record{token: s.lease.token, left: m.floor()})
	if m.without == theFirstToken {
		n.lease.token = 0
	}
	if h := s.lease.holder; h > 0 {
		n.procs[h-1].over = true
	}
	g.fault("somebody", "deletes the Lease", n)
}

// remains is what is left when every process is killed.
type remains struct {
	lease      record
	windows    [most]window
	late       message
	lateWindow lateWindow
}

// recovery judges what remains, once for each.
type recovery map[remains]bool

// stuck says that from s on, when every process is killed, what is late has
// arrived or is lost, and time passes, one sweeper does not bring back that no
// window is left and that the lease is free.
func (m machine) stuck(s state, known recovery) bool {
	r := remains{s.lease, s.windows, s.late, s.lateWindow}
	stuck, ok := known[r]
	if ok {
		return stuck
	}
	stuck = !m.recovers(r)
	known[r] = stuck
	return stuck
}

func (m machine) recovers(r remains) bool {
	s := m.start()
	s.sweeps = 1
	s.lease, s.windows, s.late, s.lateWindow = r.lease, r.windows, r.late, r.lateWindow
	g := &moves{m: m}
	if m.network(g, s); len(g.list) > 0 {
		for _, mv := range g.list {
			if n := mv.next; !m.recovers(remains{n.lease, n.windows, n.late, n.lateWindow}) {
				return false
			}
		}
		return true
	}
	s.lease.left = m.floor()
	for p := range s.windows {
		if s.windows[p].there {
			s.windows[p].left = m.floor()
		}
	}
	for m.gate {
		g := &moves{m: m}
		m.sweeper(g, s)
		if s = g.list[0].next; s.sweep.at == resting {
			break
		}
	}
	return !m.held(s.lease, 0) && s.windows == [most]window{}
}
