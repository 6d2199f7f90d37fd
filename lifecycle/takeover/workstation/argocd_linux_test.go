package workstation_test

import (
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// Where Argo CD delivers, it is what heals: a service whose guardian is killed, and that
// nobody comes back for, is put back by it once the lease has ended, and its pods serve.
func TestNodeArgoCDPutsBack(t *testing.T) {
	t.Parallel()
	a, n := devtest.NodeArgoCD(t), devtest.Node(t)
	k := killingOf(t, takeovertest.DeliverByArgoCD(t, a, n.PushRegistry(), n.PullRegistry(), killed(t)))
	r := k.role
	r.Borrow = lease.Timing{Duration: 50 * time.Second, RenewEvery: 3 * time.Second}
	client := k.guardian(r)
	k.rolledOut()
	k.answers("v2 workstation false ")

	kill(t, client.PID())
	begun := time.Now()
	k.until("Argo CD has put the workload back", func() bool { return k.Spec("api") == k.before })
	t.Logf("put back after %s", time.Since(begun))
	k.rolledOut()
	k.answers("v1 cluster false ")
	if _, err := takeover.Left(k.folder); err != nil {
		t.Errorf("the journal does not say that a takeover was interrupted: %v", err)
	}
	k.finish()
	k.whole()
}
