package main

import (
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// takeover prints what a session reports.
func (n *narrator) takeover(e takeover.Event) {
	switch e.Type {
	case takeover.EventPlanned:
		for _, c := range e.Plan.Changed {
			n.line("plan: image %s: %s", c.Name, c.Reason)
		}
	case takeover.EventPublished:
		n.line("the registry has the agent for %s", e.Workload)
	case takeover.EventLeaseAcquired:
		n.line("holds the lease until %s, and renews it", e.Until.Local().Format(time.TimeOnly))
	case takeover.EventReady:
		n.line("its process is ready on this machine, and nobody has noticed yet")
	case takeover.EventDiverted:
		n.line("one patch has put the agent into %s", e.Workload)
	case takeover.EventServing:
		n.line("every pod of %s is served from here", e.Workload)
	case takeover.EventProcess:
		if p := e.Process; p.Type == runtime.EventBuilt {
			n.line("built %s in %.2f s", p.Name, p.Took.Seconds())
		}
	case takeover.EventRestored:
		n.line("%s: %s", e.Workload, e.Outcome)
	case takeover.EventAgentsGone:
		n.line("no pod has the agent any more")
	case takeover.EventReturned:
		n.line("the lease is released, and the target is as it was delivered")
	}
}
