package main

import (
	"bytes"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// The counts of a workload's pods do not contradict each other: what terminates is said
// apart, and after it was put back those of the original come first.
func TestPodLines(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	p := &takeoverProgress{w: &said}
	tell := func(typ takeover.EventType, pods *takeover.Pods) {
		p.event(takeover.Event{Type: typ, Workload: "Deployment shop/api", Outcome: "restored", Pods: pods})
	}
	tell(takeover.EventDiverted, nil)
	for _, n := range []takeover.Pods{
		{Wanted: 1, Others: 1},
		{Wanted: 1, Agents: 1, Others: 1, Connected: 1},
		{Wanted: 1, Agents: 1, Others: 1, Connected: 1, OthersEnding: 1},
	} {
		tell(takeover.EventWaiting, &n)
	}
	tell(takeover.EventRestored, nil)
	for _, n := range []takeover.Pods{
		{Wanted: 2, Agents: 2, Connected: 2},
		{Wanted: 2, Agents: 2, Others: 2, AgentsEnding: 2},
	} {
		tell(takeover.EventWaiting, &n)
	}
	p.event(takeover.Event{Type: takeover.EventUnedited, Reason: "the working tree is as the receipt says again; handing back"})
	want := `Deployment shop/api: diverted
Deployment shop/api: 0 of 1 pods have the agent; 1 still have the original
Deployment shop/api: 1 of 1 pods have the agent, of which 1 are served from here; 1 still have the original
Deployment shop/api: 1 of 1 pods have the agent, of which 1 are served from here; 1 with the original terminate
Deployment shop/api: restored
Deployment shop/api: 0 of 2 pods have the original again, 2 still the agent
Deployment shop/api: 2 of 2 pods have the original again; 2 with the agent terminate
the working tree is as the receipt says again; handing back
`
	if said.String() != want {
		t.Errorf("it says\n%swant\n%s", said.String(), want)
	}
}
