package model

// keeper is Manager.Acquire, Held.Renew as Keep calls it, Held.Open and Release,
// Manager.Resume, and their end by SIGKILL, of process p.
func (m machine) keeper(g *moves, s state, p int) {
	q, who := s.procs[p], names[p]
	if m.resumes && q.at != idle && q.at != crashed && q.at != done {
		n := s
		n.procs[p].at = crashed
		g.fault(who, "is killed", n)
	}
	switch q.at {
	case idle:
		if p == 0 || s.procs[p-1] != (proc{}) { // processes are alike: they begin in their order
			m.acquireRead(g, s, p)
		}
	case deciding:
		m.acquireWrite(g, s, p)
	case closing, shutting, shut:
		m.close(g, s, p)
	case held:
		m.begin(g, s, p)
	case resumed, extending, extendingLast:
		m.extend(g, s, p)
	case renewing:
		m.renewWrite(g, s, p)
	case tooLate:
		m.takeBack(g, s, p)
	case opening, removing:
		m.open(g, s, p, "Open")
	case freeing:
		m.release(g, s, p)
	case crashed:
		m.resume(g, s, p)
	}
}

// acquireRead is Manager.acquire as far as client.get.
func (m machine) acquireRead(g *moves, s state, p int) {
	for _, ahead := range m.dates() {
		n := s
		q := &n.procs[p]
		q.read = version{s.lease, true}
		switch {
		case s.lease.holder == int8(p+1):
			m.hold(&n, p, ahead)
			g.add(names[p], "Acquire: reads that it holds the lease", n, "")
		case !m.held(s.lease, ahead):
			q.at, q.end = deciding, ahead+m.duration
			g.add(names[p], "Acquire: reads that the lease is free", n, "")
		}
	}
	if s.procs[p].unclear {
		m.look(g, s, p, "Acquire: gives up, and reads whether it has something to give back")
	}
}

// acquireWrite is Manager.acquire from client.put on.
func (m machine) acquireWrite(g *moves, s state, p int) {
	q := s.procs[p]
	m.write(g, s, p, "Acquire: writes that it holds the lease", record{holder: int8(p + 1), token: q.read.token + 1, left: q.end},
		func(n *state, ahead int8) invariant {
			m.hold(n, p, ahead)
			return ""
		},
		func(q *proc) { q.at, q.unclear = idle, true })
}

// held is State.Held: whether the lease is somebody's, for others.
func (m machine) held(r record, ahead int8) bool {
	grace := m.grace
	if m.without == theGrace {
		grace = 0
	}
	return r.holder != 0 && r.left-ahead+grace >= 0
}

// hold is Manager.newHeld, with a lease that p has just read or written. What
// Acquire has the gate sweep then is left to the sweeper.
func (m machine) hold(n *state, p int, ahead int8) {
	q := &n.procs[p]
	q.at = held
	if m.gate {
		q.at = closing
	}
	q.token, q.lost, q.known = q.read.token, false, 0
	m.adopt(q, q.read.record, ahead)
}

// adopt is Held.adopt. The request counts as sent when it is answered: that lets
// the holder go on longest.
func (m machine) adopt(q *proc, r record, ahead int8) {
	if r.left < q.known {
		return
	}
	margin := m.margin
	if m.without == theMargin {
		margin = 0
	}
	q.known = r.left
	q.deadline = max(0, (r.left-ahead-margin)*m.second)
}

// verify is Held.verify with what is read right now, and Held.alive.
func (m machine) verify(n *state, p int, ahead int8) bool {
	q, r := &n.procs[p], n.lease
	if q.lost || q.deadline == 0 || r.holder != int8(p+1) || r.token != q.token || r.broken || r.left-ahead <= 0 ||
		q.known-ahead <= 0 && m.without != theKnownEnd {
		q.lost = true
		return false
	}
	m.adopt(q, r, ahead)
	q.lost = q.deadline == 0
	return !q.lost
}

// check is Held.Check, for each server that may answer it.
func (m machine) check(s state, p int, then func(n state, ok bool)) {
	for _, ahead := range m.dates() {
		n := s
		then(n, m.verify(&n, p, ahead))
	}
}

// begin is whatever a holder begins while it holds the lease: Held.renewTo as far
// as client.get and the Guard of Gate.Extend, Held.Open, and Held.Release.
func (m machine) begin(g *moves, s state, p int) {
	q, who := s.procs[p], names[p]
	if !q.write.on || m.abandons { // Release is called when the work is done
		if m.gate && s.windows[p].there {
			n := s
			n.procs[p].lost = true
			m.open(g, n, p, "Release")
		} else {
			m.look(g, s, p, "Release: reads the lease")
		}
	}
	if m.opens && !q.opening {
		n := s
		n.procs[p].opening = true
		m.open(g, n, p, "Open")
	}
	if q.lost {
		return
	}
	for _, ahead := range m.dates() {
		n := s
		if !m.verify(&n, p, ahead) {
			g.add(who, "Renew: finds that the lease is lost", n, "")
			continue
		}
		end := ahead + m.duration
		if end <= s.lease.left {
			continue // what it would change, Check does
		}
		n.procs[p].read, n.procs[p].end = version{s.lease, true}, end
		n.procs[p].at = renewing
		if m.gate && !q.opening && m.without != theOrder {
			n.procs[p].at = extending
		}
		g.add(who, "Renew: reads the lease", n, when(q.over, resurrected))
	}
}

// extend is Gate.Extend, which whoever renews calls before it writes the Lease.
func (m machine) extend(g *moves, s state, p int) {
	q, who := s.procs[p], names[p]
	w := s.windows[p]
	n := s
	if n.procs[p].at = renewing; q.at == extendingLast || q.end <= q.read.left {
		n.procs[p].at = held
	}
	if !w.there || w.left <= 0 {
		n.procs[p].at, n.procs[p].lost = held, true
		g.add(who, "Renew: finds the gate open", n, "")
		return
	}
	w.left = max(w.left, q.end+2*m.grace)
	n.putWindow(p, w)
	g.add(who, "Renew: moves the end of the window", n, "")
	if m.lates && s.lateWindow.holder == 0 {
		n := s
		n.lateWindow = lateWindow{int8(p + 1), w, true}
		n.procs[p].at = held
		g.fault(who, "Renew: moves the end of the window, without an answer, and not yet", n)
	}
}

// renewWrite is Held.renew from client.put on.
func (m machine) renewWrite(g *moves, s state, p int) {
	q := s.procs[p]
	m.write(g, s, p, "Renew: moves the end of the lease", record{holder: int8(p + 1), token: q.token, left: q.end},
		func(n *state, ahead int8) invariant {
			if q.read.left-ahead <= 0 && m.without != theRecheck {
				n.procs[p].at, n.procs[p].lost, n.procs[p].end = tooLate, true, q.read.left
				return ""
			}
			n.procs[p].at = held
			if m.verify(n, p, ahead) && m.gate && m.without == theOrder && !q.opening {
				n.procs[p].at = extendingLast
			}
			return when(q.read.left-ahead <= 0, moved)
		},
		func(q *proc) { q.at = held })
}

// takeBack is Held.takeBack.
func (m machine) takeBack(g *moves, s state, p int) {
	q := s.procs[p]
	if m.stale(q.read) {
		n := s
		if n.procs[p].at = held; s.lease == q.read.record { // the same holder, token and end
			n.procs[p].at, n.procs[p].read = tooLate, version{s.lease, true}
		}
		g.add(names[p], "Renew: reads whether it has something to take back", n, "")
		return
	}
	back := record{holder: int8(p + 1), token: q.token, left: q.end}
	if m.without == theRestoredEnd {
		back = record{token: q.token, left: m.floor()}
	}
	m.write(g, s, p, "Renew: takes back the end of the lease", back,
		func(n *state, _ int8) invariant { n.procs[p].at = held; return "" },
		func(q *proc) { q.read.fresh = false })
}

// release is Manager.release of what p holds, and look what it does first if it
// does not know the Lease.
func (m machine) release(g *moves, s state, p int) {
	if m.stale(s.procs[p].read) {
		m.look(g, s, p, "Release: reads the lease")
		return
	}
	m.write(g, s, p, "Release: clears the lease", record{token: s.procs[p].read.token, left: m.floor()},
		func(n *state, _ int8) invariant { n.procs[p].at = done; return "" },
		func(q *proc) { q.read.fresh = false })
}

func (m machine) look(g *moves, s state, p int, what string) {
	n := s
	if q := s.procs[p]; s.lease.holder == int8(p+1) && (q.at == idle || s.lease.token == q.token) {
		n.procs[p].at, n.procs[p].lost, n.procs[p].read = freeing, true, version{s.lease, true}
	} else {
		n.procs[p].at = done
	}
	g.add(names[p], what, n, "")
}

// resume is Manager.Resume, by somebody who knows the ID of a holder that was
// killed, and the Renew that has to come first: Resume does not look at the gate.
func (m machine) resume(g *moves, s state, p int) {
	if !m.resumes || s.lease.holder != int8(p+1) {
		return
	}
	for _, ahead := range m.dates() {
		n := s
		n.procs[p].read = version{s.lease, true}
		m.hold(&n, p, ahead)
		n.procs[p].end = max(s.lease.left, ahead+m.duration)
		if n.procs[p].at = held; m.gate {
			n.procs[p].at = resumed
		}
		if m.verify(&n, p, ahead) {
			g.add(names[p], "Resume: takes up the lease", n, when(s.procs[p].over, resurrected))
		}
	}
}

// write is client.put of p: it is answered, or refused, or it lands unnoticed, at
// once or later. Then again is what Manager.again has the caller do: read once
// more.
func (m machine) write(g *moves, s state, p int, what string, r record, answered func(*state, int8) invariant, again func(*proc)) {
	who, fresh := names[p], s.procs[p].read.fresh
	landed := s
	landed.put(r)
	for _, ahead := range m.dates() {
		n := landed
		n.procs[p].read = version{r, true}
		i := answered(&n, ahead)
		g.add(who, what, n, i)
	}
	if m.loses {
		n := landed
		again(&n.procs[p])
		g.fault(who, what+", and the answer is lost", n)
	}
	if m.lates && !s.late.sent {
		n := s
		n.late = message{true, version{r, fresh}}
		again(&n.procs[p])
		n.procs[p].read.fresh = false
		g.fault(who, what+", without an answer, and not yet", n)
	}
}

// writer is Held.Check.
func (m machine) writer(g *moves, s state, p int) {
	q, who := s.procs[p], names[p]
	if q.write.on || q.lost || q.at != held && q.at != extending && q.at != renewing && q.at != extendingLast {
		return
	}
	m.check(s, p, func(n state, ok bool) {
		if !ok {
			g.add(who, "Check: finds that the lease is lost", n, "")
			return
		}
		if m.writes {
			n.procs[p].write = write{on: true, saw: s.object}
		}
		i := when(q.over, resurrected)
		if w := s.windows[p]; m.gate && !q.opening && (!w.there || w.left*m.second <= s.tick) {
			i = unguarded
		}
		g.add(who, "Check: may write", n, i)
	})
}

// landing is what the Check was for.
func (m machine) landing(g *moves, s state, p int) {
	q := s.procs[p]
	if !q.write.on {
		return
	}
	n := s
	n.procs[p].write = write{}
	var i invariant
	switch {
	case !m.precondition:
		i = when(s.lease.token > q.token || s.lease.holder != 0 && s.lease.holder != int8(p+1), lateWrite)
	case s.object == q.write.saw || m.without == thePrecondition:
		i = when(s.object > q.token, interleaved)
		n.object = q.token
	}
	g.add(names[p], "its guarded write lands", n, i)
}
