package workstation_test

import (
	"context"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// outage is how long a part of the cluster is away.
const outage = 5 * time.Second

// The kubelet and the API server are killed in the middle of a takeover, and started again
// a while later. Callers wait at most, the streams are made anew, the takeover goes on, and
// its end leaves the workload as it was. Then the laptop is lost for good while the API
// server is away, and the workload comes back all the same. Not in parallel: each test of
// the node would notice.
func TestNodePartsKilled(t *testing.T) {
	n := devtest.Node(t)
	k := newKilling(t)
	client := k.guardian(k.role)
	k.rolledOut()
	k.answers("v2 workstation false ")
	callers := k.call(n)

	for _, part := range []struct {
		name        string
		kill, start func(context.Context) error
	}{
		{"kubelet", n.KillKubelet, n.StartKubelet},
		{"API server", n.KillAPIServer, n.StartAPIServer},
	} {
		callers.served("before the " + part.name + " is killed")
		away(t, part.name, part.kill, part.start, callers)
		callers.served("after the " + part.name + " is there again")
		k.answers("v2 workstation false ")
		if now, err := client.Status(t.Context()); err != nil || len(now.Workloads) != 1 || !now.Workloads[0].Serving {
			t.Errorf("after the %s was killed it is %+v, %v", part.name, now, err)
		}
	}
	callers.stop()
	if err := client.HandBack(t.Context()); err != nil {
		t.Errorf("hand back: %v", err)
	}
	k.whole()

	k.diesAt(journal.Serving, true)
	away(t, "API server", n.KillAPIServer, n.StartAPIServer, nil)
	k.wholeAgain()
	k.whole()
}

// away kills a part of the cluster, and starts it again a while later.
func away(t *testing.T, name string, kill, start func(context.Context) error, callers *callers) {
	t.Helper()
	if callers != nil {
		callers.breaks.Add(1)
	}
	if err := kill(t.Context()); err != nil {
		t.Fatalf("kill the %s: %v", name, err)
	}
	<-time.After(outage)
	if err := start(t.Context()); err != nil {
		t.Fatalf("start the %s again: %v", name, err)
	}
	t.Logf("the %s was killed and is there again", name)
}
