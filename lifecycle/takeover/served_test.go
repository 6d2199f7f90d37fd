package takeover_test

import (
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// served is a shop whose api is served from a workstation, by way of a proxy.
type served struct {
	*takeovertest.Shop
	*running
	before map[string]string
	local  *takeovertest.Workstation
	proxy  *faultproxy.Proxy
}

func serve(t *testing.T, files map[string]string, change func(*takeover.Config)) *served {
	t.Helper()
	return serveFor(t, files, takeovertest.Short, change)
}

// serveFor is serve with a lease of that timing.
func serveFor(t *testing.T, files map[string]string, borrow lease.Timing, change func(*takeover.Config)) *served {
	t.Helper()
	s := &served{Shop: takeovertest.NewShop(t, devtest.Cluster(t)), local: &takeovertest.Workstation{}}
	s.before = s.Specs()
	s.Write(files)
	var err error
	if s.proxy, err = faultproxy.ForCluster(s.REST); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.proxy.Close)
	c, err := takeovertest.Config(t.Context(), s.Dir, s.Namespace, s.proxy.Config(s.REST), borrow)
	if err != nil {
		t.Fatal(err)
	}
	c.Workstation = s.local
	if change != nil {
		change(&c)
	}
	s.running = begin(t, c)
	s.until(takeover.EventServing, len(files))
	return s
}

var editAPI = map[string]string{"api/main.txt": "api 2\n"}

// cutOff has nothing of the session reach the API server until what it returns is
// called.
func (s *served) cutOff() (mend func()) {
	return s.proxy.Add(faultproxy.Rule{Do: faultproxy.Cut()}).Remove
}

// elsewhere ends the session as others do.
func (s *served) elsewhere() *restore.Restorer {
	s.t.Helper()
	leases, ok := s.Lifecycle().Lease.(*lease.Manager)
	if !ok {
		s.t.Fatal("the lease is another one")
	}
	r, err := restore.New(restore.Config{REST: s.REST, Namespace: s.Namespace, Target: s.Namespace, Lease: leases, By: "bob@desk"})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// free waits until the lease has ended.
func (s *served) free() {
	s.t.Helper()
	free(s.t, s.Shop)
}

// free waits until the lease of a target has ended.
func free(t *testing.T, s *takeovertest.Shop) {
	t.Helper()
	l := s.Lifecycle()
	for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
		if now, err := l.Lease.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		} else if !now.Held {
			tick.Stop()
			return
		}
	}
}

// settle waits until the target is what its receipt says.
func (s *served) settle() {
	s.t.Helper()
	l := s.Lifecycle()
	for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
		if now, err := l.Status(s.t.Context()); err != nil {
			s.t.Fatal(err)
		} else if now.IsLive() {
			tick.Stop()
			return
		}
	}
}

// finish hands back what the session has left.
func (s *served) finish() error {
	s.t.Helper()
	session, err := takeover.New(s.Config())
	if err != nil {
		s.t.Fatal(err)
	}
	return session.Finish(s.t.Context())
}
