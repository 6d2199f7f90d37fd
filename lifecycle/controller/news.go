package controller

import (
	"log/slog"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// patience is how long something may take to become as it is declared before it
// is said that it does not.
const patience = 5 * time.Minute

// notConverged is the reason of an Event.
const notConverged = "NotConverged"

// finding is something that a pass found and the one before it did not.
type finding struct {
	level   slog.Level
	message string
	// gate is one that was opened, application and reason are of what is covered.
	gate, application, reason string
	// event is the reason of the Event that it makes; empty for none.
	event string
}

func (f finding) attrs() (attrs []any) {
	for _, a := range []struct{ key, value string }{{"gate", f.gate}, {"application", f.application}, {"reason", f.reason}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	return attrs
}

// of is the Event on the Lease of a target.
func (f finding) of(d Watchdog) Event {
	e := Event{Namespace: d.Namespace, Target: d.Target, Reason: f.event, Warning: f.level >= slog.LevelWarn, Note: f.message}
	for _, text := range []string{f.gate, f.application, f.reason} {
		if text != "" {
			e.Note += ": " + text
		}
	}
	return e
}

// news keeps what the passes of a watchdog found, so that everything is told once.
type news struct {
	failing failing
	pending map[string]waiting
	others  map[string]bool
}

// waiting is something that is not as it is declared.
type waiting struct {
	reason string
	since  time.Time // of the API server's clock
	late   bool      // it is said that it does not become so
	failed bool
}

// in returns what is new in a pass.
func (n *news) in(s lease.State, r lease.Report, err error) (list []finding) {
	for _, gate := range r.Opened {
		list = append(list, finding{level: slog.LevelInfo, message: "opened what a lease had left closed", gate: gate, event: "GateOpened"})
	}
	pending, others := map[string]waiting{}, map[string]bool{}
	for _, p := range r.Pending {
		was, known := n.pending[p.Name]
		is := waiting{reason: p.Reason, since: was.since, failed: p.Failed}
		if !known {
			is.since = s.Now
		}
		is.late = p.Failed || s.Now.Sub(is.since) > patience
		f := finding{level: slog.LevelInfo, message: "it is not yet what is declared", application: p.Name, reason: p.Reason}
		if is.late {
			f.level, f.message = slog.LevelWarn, "it did not become what is declared"
			if !was.late {
				f.event = notConverged
			}
		}
		if !known || is.late != was.late || is.late && is.reason != was.reason {
			list = append(list, f)
		}
		pending[p.Name] = is
	}
	for _, o := range r.Others {
		if !n.others[o] {
			list = append(list, finding{level: slog.LevelInfo, message: "something else keeps it from being synced", reason: o})
		}
		others[o] = true
	}
	for name, was := range n.pending {
		switch _, still := pending[name]; {
		case still:
		case err != nil: // what the pass did not come to may be so all the same
			pending[name] = was
		case !was.failed: // of what failed a gate speaks once
			list = append(list, finding{level: slog.LevelInfo, message: "it is not waited for any more", application: name})
		}
	}
	if err == nil || n.others == nil {
		n.others = others
	}
	n.pending = pending
	return list
}
