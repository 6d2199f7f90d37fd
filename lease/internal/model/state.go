package model

import (
	"fmt"
	"strings"
)

// most is how many processes there can be.
const most = 3

// state is all that matters for what can happen next. Times are what is left
// until them, so that states which differ in the time of day alone are one:
// seconds are counted from the Date that a server tells whose clock is exact,
// ticks from now. What is long past is past, whatever the time since: see floor.
type state struct {
	tick    int8 // within the second
	faults  int8 // how many more there can be
	lease   record
	late    message
	procs   [most]proc
	object  int8 // the token on the object that the holders write to
	windows [most]window
	// lateWindow is as late, of the gate.
	lateWindow lateWindow
	sweeps     int8 // how many more there can be
	sweep      sweep
	breaking   breaking
}

// record is the Lease as it stands on the API server: package lease's record.go.
type record struct {
	holder int8 // 0 for nobody
	token  int8
	left   int8 // seconds until its end
	broken bool // State.brokenFor its holder
}

// version is a Lease as somebody read it, or is about to write it. In the place
// of a resourceVersion it says whether nobody wrote the Lease since.
type version struct {
	record
	fresh bool
}

// message is a write of the Lease that may still land although its sender got no
// answer, or is gone.
type message struct {
	sent bool
	version
}

// proc is a process that wants the lease once: Manager.Acquire, and then a Held,
// whose keeper (Keep, Open, Release) and writer (Check, and the write that it
// guards) run side by side.
type proc struct {
	at place
	// unclear says, before it is the holder, that a write of its own may have gone
	// through unnoticed.
	unclear bool
	token   int8
	// read is the Lease as it was read for the next write of it, and end the end
	// that this gives it.
	read version
	end  int8
	// known and deadline are Held.state.Expires, in seconds, and Held.deadline, in
	// ticks of the process's own clock.
	known    int8
	deadline int8
	asleep   bool // its machine, and that clock
	lost     bool
	opening  bool // Held.gate
	write    write
	// over is nothing that the process knows: the lease was its own, and had ended
	// by the server's clock, or was broken.
	over bool
}

// write is a guarded write: it passed its Check, and has not landed.
type write struct {
	on  bool
	age int8 // ticks since its Check; not counted if it carries a precondition
	saw int8 // the token that the object carried
}

// window is what a gate is closed with for a holder: it is there, and keeps
// others away until its end.
type window struct {
	there bool
	token int8
	left  int8 // seconds until its end
}

// lateWindow is a write of a window that may still land; fresh says that nobody
// wrote the project since it was read.
type lateWindow struct {
	holder int8 // 0 for none
	window
	fresh bool
}

// sweep is a Manager.Sweep of somebody who does not hold the lease.
type sweep struct {
	at     sweepPlace
	holder int8 // of the claim
	token  int8
	now    int8  // the claim's, in seconds from now
	found  uint8 // windows that it opens
}

// breaking is a Manager.Break.
type breaking struct {
	at    breakPlace
	fresh bool
}

type (
	place      int8
	sweepPlace int8
	breakPlace int8
)

// Where the keeper of a process is: before which call.
const (
	idle          place = iota // Manager.acquire, client.get
	deciding                   // Manager.acquire, client.put, of a lease that was free
	closing                    // Held.tryToClose, Check, and that of the Guard
	shutting                   // Gate.Close, the write
	shut                       // Held.tryToClose, the Check after Close
	held                       // none: between two renewals
	resumed                    // Gate.Extend in the renewal that comes first after Manager.Resume
	extending                  // Gate.Extend, the write, after the Guard
	renewing                   // Held.renew, client.put
	extendingLast              // Gate.Extend, where the order is the wrong one
	tooLate                    // Held.takeBack, client.put
	opening                    // Held.open, the write that ends the window
	removing                   // Held.open, the write that removes it
	freeing                    // Manager.release, client.put, or client.get if it has to be read
	crashed                    // none: killed, and its holder's ID is known to others
	done
)

const (
	resting  sweepPlace = iota // before it reads the lease
	claiming                   // before it reads the windows
	ending                     // before the writes that end them
	sweeping                   // before the writes that remove them
)

const (
	before breakPlace = iota
	breakingUp
	broke
)

var places = [...]string{"idle", "deciding", "closing", "shutting", "shut", "held", "resumed", "extending", "renewing", "extending", "too late", "opening", "removing", "freeing", "crashed", "done"}

func (s state) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lease %s", s.lease)
	for p, q := range s.procs {
		if q == (proc{}) {
			continue
		}
		fmt.Fprintf(&b, "; p%d %s", p+1, places[q.at])
		if q.deadline > 0 {
			fmt.Fprintf(&b, " for %d ticks", q.deadline)
		}
		if q.asleep {
			b.WriteString(", asleep")
		}
		if q.lost {
			b.WriteString(", lost")
		}
		if q.write.on {
			fmt.Fprintf(&b, ", has been writing for %d ticks", q.write.age)
		}
		if w := s.windows[p]; w.there {
			fmt.Fprintf(&b, ", window #%d %+d s", w.token, w.left)
		}
	}
	if s.late.sent {
		fmt.Fprintf(&b, "; on its way: %s", s.late.record)
	}
	if l := s.lateWindow; l.holder > 0 {
		fmt.Fprintf(&b, "; on its way: window of p%d #%d %+d s", l.holder, l.token, l.left)
	}
	if s.tick > 0 {
		fmt.Fprintf(&b, "; less %d ticks", s.tick)
	}
	return b.String()
}

func (r record) String() string {
	if r.holder == 0 {
		return fmt.Sprintf("free, #%d", r.token)
	}
	text := fmt.Sprintf("of p%d #%d %+d s", r.holder, r.token, r.left)
	if r.broken {
		text += ", broken"
	}
	return text
}
