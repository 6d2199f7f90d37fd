package model

// machine is the protocol: how long things take, and what can go wrong.
type machine struct {
	procs int
	// second is how many ticks a second has. The server's Date is cut to seconds,
	// so that there have to be moments within one.
	second                  int8
	duration, margin, grace int8 // seconds
	// gate has holders close one, and somebody sweep it so many times.
	gate   bool
	sweeps int8

	// faults is how much can go wrong, of what is allowed below, before all goes
	// well.
	faults int8
	// loses lets answers be lost, lates lets writes land when their sender has
	// given up on them, or is gone.
	loses, lates bool
	// resumes lets processes be killed, and others take up their lease.
	resumes bool
	// sleeps lets machines sleep, and their monotonic clocks with them.
	sleeps bool
	// ahead is by how many seconds the clock of one of two API servers is ahead.
	ahead int8
	// breaks has somebody break a lease.
	breaks bool
	// deletes has people delete the Lease, which is a fault.
	deletes bool
	// abandons lets holders release while a write of theirs is on its way.
	abandons bool
	// opens lets holders open the gate before they release.
	opens bool

	// writes has holders write to an object after each Check. precondition has what
	// they write carry the token that they saw on the object. Without it, it lands
	// at most delay ticks after the Check, or never.
	writes       bool
	precondition bool
	delay        int8

	without rule
}

// rule is what a machine can do without, to see what it is for.
type rule string

const (
	theGrace           rule = "the grace"
	theMargin          rule = "the margin"
	theResourceVersion rule = "the resourceVersion of the Lease"
	theRecheck         rule = "the look at the end after a renewal"
	theKnownEnd        rule = "the rule that an end which is known to have passed counts"
	theRestoredEnd     rule = "the end that a late renewal is given back"
	theEndOfBroken     rule = "the end of a lease that is broken, in whose place it is cleared"
	theTokenRule       rule = "the token in what Sweep takes for left over"
	theOrder           rule = "the order of window and record in a renewal"
	theLeftOverRule    rule = "what Sweep takes for left over beside what has a lower token"
	thePrecondition    rule = "the precondition"
	theFirstToken      rule = "the first token of a Lease that was deleted"
)

// invariant is what must hold, named by what is wrong where it does not.
type invariant string

const (
	lateWrite   invariant = "a write without a precondition landed after somebody else acquired the lease"
	interleaved invariant = "a write with a precondition landed after one of a later holder"
	resurrected invariant = "a holder went on whose lease had ended or was broken"
	moved       invariant = "an end that had passed was moved, and stays so"
	unguarded   invariant = "a holder was told that it may write while its window did not stand"
	swept       invariant = "a sweep opened the window of a holder"
	leak        invariant = "what everybody left does not go away"
)

func (m machine) start() state {
	return state{faults: m.faults, sweeps: m.sweeps, lease: record{left: m.floor()}}
}

// floor is what is left until an end that is so long past that it does not matter
// how long.
func (m machine) floor() int8 { return -(m.grace + 1) }

// moves collects what can happen next.
type moves struct {
	m    machine
	list []move
}

func (m machine) moves(s state) []move {
	g := &moves{m: m}
	m.time(g, s)
	m.network(g, s)
	for p := range m.procs {
		m.landing(g, s, p)
		if !s.procs[p].asleep {
			m.keeper(g, s, p)
			m.writer(g, s, p)
		}
	}
	m.sweeper(g, s)
	m.breaker(g, s)
	m.deleter(g, s)
	return g.list
}

func (g *moves) add(who, what string, n state, broken invariant) {
	g.list = append(g.list, move{who, what, g.m.normal(n), broken})
}

// fault is add of something that goes wrong.
func (g *moves) fault(who, what string, n state) {
	if n.faults > 0 {
		n.faults--
		g.add(who, what, n, "")
	}
}

func when(broken bool, i invariant) invariant {
	if broken {
		return i
	}
	return ""
}

// normal makes states equal that differ in nothing that matters any more, and has
// who finds that its version is old find so at once.
func (m machine) normal(n state) state {
	if h := n.lease.holder; h > 0 && n.lease.left <= 0 {
		n.procs[h-1].over = true
	}
	for p := range m.procs {
		q := &n.procs[p]
		if m.stale(q.read) {
			switch q.at {
			case deciding:
				q.at = idle
			case extending, renewing:
				q.at = held
			case resumed:
				q.at = crashed
			}
		}
		switch q.at {
		case deciding:
			q.read.left = 0
		case resumed, extending, renewing, extendingLast, tooLate:
		case freeing:
			q.end = 0
		default:
			q.read, q.end = version{}, 0
		}
		if q.lost || m.gone(n.lease, p, q) {
			q.known, q.deadline, q.asleep = 0, 0, false
		}
		switch {
		case q.at == idle:
			*q = proc{unclear: q.unclear}
		case q.at == crashed:
			*q = proc{at: crashed, token: q.token, write: q.write, over: q.over}
		case q.at == done:
			*q = proc{at: done, token: q.token, write: q.write, over: q.over && n.lease.holder == int8(p+1)}
			if !q.write.on {
				q.token = 0
			}
		}
		if !n.windows[p].there {
			n.windows[p] = window{}
		}
	}
	if n.sweep.at != claiming {
		n.sweep.holder, n.sweep.token, n.sweep.now = 0, 0, 0
	}
	if !n.late.sent {
		n.late = message{}
	}
	if n.lateWindow.holder == 0 {
		n.lateWindow = lateWindow{}
	}
	return n
}

// gone says that p is not the holder any more, and that it makes no difference
// for when it finds out how long it believed to be.
func (m machine) gone(r record, p int, q *proc) bool {
	switch q.at {
	case held, closing, shut:
		return (r.holder != int8(p+1) || r.token != q.token) && m.without != theResourceVersion
	}
	return false
}

func (m machine) stale(v version) bool { return !v.fresh && m.without != theResourceVersion }

var names = [most]string{"p1", "p2", "p3"}

// time lets a tick pass, and machines fall asleep and wake up. Where nothing is
// counted down, it makes no difference.
func (m machine) time(g *moves, s state) {
	n := s
	n.tick = (n.tick + 1) % m.second
	for p := range m.procs {
		q := &n.procs[p]
		if !q.asleep {
			older(0, &q.deadline)
		}
		if q.write.on && !m.precondition {
			if q.write.age++; q.write.age > m.delay {
				q.write = write{}
			}
		}
		if n.tick == 0 {
			older(m.floor(), &q.read.left, &q.end)
			older(0, &q.known, &n.windows[p].left)
		}
	}
	if n.tick == 0 {
		older(m.floor(), &n.lease.left, &n.late.left)
		older(0, &n.lateWindow.left, &n.sweep.now)
	}
	g.add("time", "a tick passes", n, "")
	for p := range m.procs {
		n := s
		if n.procs[p].asleep = !n.procs[p].asleep; s.procs[p].asleep {
			g.add(names[p], "wakes up", n, "")
		} else if m.sleeps && s.procs[p].deadline > 0 {
			g.fault(names[p], "falls asleep", n)
		}
	}
}

func older(floor int8, times ...*int8) {
	for _, t := range times {
		*t = max(floor, *t-1)
	}
}

// dates yields by how much the clock of an API server can be ahead.
func (m machine) dates() []int8 {
	if m.ahead == 0 {
		return []int8{0}
	}
	return []int8{0, m.ahead}
}

// network lets what is late land, or be refused or lost.
func (m machine) network(g *moves, s state) {
	if s.late.sent {
		n := s
		n.late = message{}
		g.add("network", "the late write of the Lease is lost", n, "")
		if !m.stale(s.late.version) {
			n.put(s.late.record)
			g.add("network", "the late write of the Lease lands", n, "")
		}
	}
	if l := s.lateWindow; l.holder > 0 {
		n := s
		n.lateWindow = lateWindow{}
		g.add("network", "the late write of a window is lost", n, "")
		if l.fresh {
			n.putWindow(int(l.holder-1), l.window)
			g.add("network", "the late write of a window lands", n, "")
		}
	}
}

// put writes the Lease, after which nobody's version is that of the server.
func (s *state) put(r record) {
	s.lease = r
	for p := range s.procs {
		s.procs[p].read.fresh = false
	}
	s.late.fresh, s.breaking.fresh = false, false
}

// putWindow writes a window.
func (s *state) putWindow(p int, w window) {
	s.windows[p] = w
	s.lateWindow.fresh = false
}
