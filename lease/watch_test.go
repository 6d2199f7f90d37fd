package lease_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
)

// swept is a gate of which only Sweep is used.
type swept struct {
	lease.Gate
	sweep func(context.Context, lease.Claim) (lease.Report, error)
}

func (g swept) Sweep(ctx context.Context, c lease.Claim) (lease.Report, error) {
	return g.sweep(ctx, c)
}

// pass is what a watchdog said of a pass, and how long it sleeps after it.
type pass struct {
	state  lease.State
	report lease.Report
	err    error
	sleep  time.Duration
}

// watching is a watchdog whose clock the test moves.
type watching struct {
	t      *testing.T
	clock  *clock
	said   chan pass
	cancel func()
	ended  chan error
}

func (w *world) watch(t *testing.T, m *lease.Manager, c lease.WatchConfig) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &watching{t: t, clock: w.server, said: make(chan pass, 1), cancel: cancel, ended: make(chan error, 1)}
	c.Observed = func(s lease.State, r lease.Report, err error) { d.said <- pass{state: s, report: r, err: err} }
	go func() {
		defer w.server.end()
		d.ended <- m.Watch(ctx, c)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-d.ended; err != nil {
			t.Errorf("the watchdog ended with %v", err)
		}
	})
	return d
}

// pass returns the next pass once the watchdog sleeps after it.
func (d *watching) pass() pass {
	d.t.Helper()
	p := <-d.said
	if !d.clock.awaitTimer() {
		d.t.Fatal("the watchdog ended")
	}
	p.sleep = d.clock.next()
	return p
}

// next is how long it is until the first timer fires.
func (c *clock) next() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timers[0].at.Sub(c.now)
}

// wake lets the watchdog sleep out, and returns the pass after it.
func (d *watching) wake(slept pass) pass {
	d.t.Helper()
	d.clock.advance(slept.sleep)
	return d.pass()
}

// watched is a manager with that gate.
func (w *world) watched(t *testing.T, sweep func(context.Context, lease.Claim) (lease.Report, error)) *lease.Manager {
	t.Helper()
	c := w.config(w.server)
	c.Gate = swept{sweep: sweep}
	return manager(t, c)
}

// A watchdog looks right after the end of a lease, however far it is, and tells
// the gate that nobody holds it any more, while that still stands: what waits for
// its end is taken away before.
func TestWatchLooksAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	door := newDoor()
	h := acquire(t, w.process(t, door).Manager, lease.Request{Mode: lease.ModeBorrow, User: "bob@desk", For: 90 * time.Second})
	var claims []lease.Claim
	d := w.watch(t, w.watched(t, func(_ context.Context, c lease.Claim) (lease.Report, error) {
		claims = append(claims, c)
		if len(door.standing(w.server.Now().Add(3*time.Second))) != 1 {
			t.Errorf("at pass %d the gate opens by itself before it can be swept", len(claims))
		}
		if c.Holder == "" && len(claims) == 3 {
			return lease.Report{Opened: []string{"the window"}}, nil
		}
		return lease.Report{}, nil
	}), lease.WatchConfig{})

	first := d.pass()
	if first.sleep != time.Minute || !first.state.Held {
		t.Errorf("the first pass: %+v", first)
	}
	second := d.wake(first)
	if second.sleep != 36*time.Second || !second.state.Held {
		t.Errorf("30 s before the end it sleeps for %s, want those and the grace and a second", second.sleep)
	}
	third := d.wake(second)
	if third.state.Held || len(third.report.Opened) != 1 || third.sleep != time.Minute {
		t.Errorf("after the end: %+v", third)
	}
	for i, want := range []string{h.Holder(), h.Holder(), ""} {
		if claims[i].Holder != want || claims[i].Token != h.Token() {
			t.Errorf("pass %d sweeps for %q with token %d", i, claims[i].Holder, claims[i].Token)
		}
	}
}

// It looks sooner while something is to come back by itself, but ever more
// rarely, and no sooner for what does not.
func TestWatchWhileSomethingIsPending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var report lease.Report
	d := w.watch(t, w.watched(t, func(context.Context, lease.Claim) (lease.Report, error) { return report, nil }), lease.WatchConfig{})
	p := d.pass()
	report.Pending = []lease.Pending{{Name: "api", Reason: "it is refreshed"}, {Name: "web", Reason: "it failed", Failed: true}}
	for _, want := range []time.Duration{5, 10, 20, 40, 60, 60} {
		if p = d.wake(p); p.sleep != want*time.Second {
			t.Errorf("it sleeps for %s, want %d s", p.sleep, want)
		}
	}
	report.Pending = report.Pending[1:]
	if p = d.wake(p); p.sleep != time.Minute || len(p.report.Pending) != 1 {
		t.Errorf("for what a person has to look at: %+v", p)
	}
	report.Pending = []lease.Pending{{Name: "api", Reason: "it is refreshed"}}
	if p = d.wake(p); p.sleep != 5*time.Second {
		t.Errorf("for the next one it sleeps for %s", p.sleep)
	}
}

// Neither a gate that fails nor a server that is not there ends it; it says so
// each time, and asks ever more rarely.
func TestWatchThroughTrouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy, err := faultproxy.ForCluster(w.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	broken := errors.New("appprojects is forbidden")
	config := w.config(w.server)
	config.REST = withServerTime(proxy.Config(w.cluster.Config()), w.server.Now)
	config.RetryPeriod = time.Millisecond
	var gate error
	config.Gate = swept{sweep: func(context.Context, lease.Claim) (lease.Report, error) { return lease.Report{}, gate }}
	d := w.watch(t, manager(t, config), lease.WatchConfig{})
	p := d.pass()
	gate = broken
	for _, want := range []time.Duration{5, 10} {
		if p = d.wake(p); p.sleep != want*time.Second || !errors.Is(p.err, broken) || !strings.Contains(p.err.Error(), "pharos-devbox") {
			t.Errorf("a gate that fails: %+v", p)
		}
	}
	rule := proxy.Add(faultproxy.Rule{Do: faultproxy.Answer(http.StatusForbidden)})
	if p = d.wake(p); p.sleep != 20*time.Second || p.err == nil {
		t.Errorf("a server that refuses: %+v", p)
	}
	rule.Remove()
	gate = nil
	if p = d.wake(p); p.sleep != time.Minute || p.err != nil {
		t.Errorf("when all is well again: %+v", p)
	}
}

// A gate that hangs ends with its pass, and the watchdog with its context.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hangs := make(chan struct{}, 1)
	m := w.watched(t, func(ctx context.Context, _ lease.Claim) (lease.Report, error) {
		hangs <- struct{}{}
		<-ctx.Done()
		return lease.Report{}, context.Cause(ctx)
	})
	d := w.watch(t, m, lease.WatchConfig{Timeout: 50 * time.Millisecond})
	<-hangs
	if p := d.pass(); p.err == nil || !strings.Contains(p.err.Error(), "longer than 50ms") {
		t.Errorf("a gate that hangs: %v", p.err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- m.Watch(ctx, lease.WatchConfig{Observed: func(_ lease.State, _ lease.Report, err error) { t.Errorf("told of %v", err) }})
	}()
	<-hangs
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// Ten idle minutes cost ten reads of one object, and the gate's.
func TestWatchCosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	acquire(t, w.manager(t), maintain)
	config, user := devtest.User(t, w.cluster, w.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}, ResourceNames: []string{"pharos-devbox"}},
	}})
	c := w.config(w.server)
	c.REST = withServerTime(config, w.server.Now)
	d := w.watch(t, manager(t, c), lease.WatchConfig{})
	p := d.pass()
	audit := devtest.RecordAudit(t, w.cluster)
	began := w.server.Now()
	passes := 0
	for ; w.server.Now().Sub(began) < 10*time.Minute; passes++ {
		if p = d.wake(p); p.err != nil {
			t.Fatal(p.err)
		}
	}
	events := audit.Events(t, func(e devenv.AuditEvent) bool { return e.User == user })
	if len(events) != passes || passes != 10 {
		t.Errorf("%d passes and %d requests in 10 min", passes, len(events))
	}
	for _, e := range events {
		if e.Verb != "get" || e.Resource != "leases" || e.Name != "pharos-devbox" {
			t.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
}

// Whatever was written into the Lease, a watchdog sleeps, and not for long.
func TestWatchOfAHostileLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	acquire(t, m, borrow)
	d := w.watch(t, w.watched(t, func(_ context.Context, c lease.Claim) (lease.Report, error) { return lease.Report{}, nil }), lease.WatchConfig{})
	p := d.pass()
	for name, edit := range map[string]func(*coordinationv1.Lease){
		"no end":        func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = nil },
		"longest end":   func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = ptr.To(int32(math.MaxInt32)) },
		"far future":    func(l *coordinationv1.Lease) { l.Spec.RenewTime = microTime(9999) },
		"long ago":      func(l *coordinationv1.Lease) { l.Spec.RenewTime = microTime(1) },
		"no renewal":    func(l *coordinationv1.Lease) { l.Spec.RenewTime = nil },
		"highest token": func(l *coordinationv1.Lease) { l.Spec.LeaseTransitions = ptr.To(int32(math.MaxInt32)) },
		"no holder":     func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil },
		"no JSON": func(l *coordinationv1.Lease) {
			metav1.SetMetaDataAnnotation(&l.ObjectMeta, "pharos.dev/lease-covers", "[")
		},
		"a strange mode": func(l *coordinationv1.Lease) {
			metav1.SetMetaDataAnnotation(&l.ObjectMeta, "pharos.dev/lease-mode", "\x1b[2J\n")
		},
		"nothing at all": func(l *coordinationv1.Lease) { l.Spec, l.Annotations = coordinationv1.LeaseSpec{}, nil },
	} {
		w.edit(t, edit)
		if p = d.wake(p); p.err != nil || p.sleep < time.Second || p.sleep > time.Minute {
			t.Errorf("%s: it sleeps for %s, %v", name, p.sleep, p.err)
		}
	}
}

func microTime(year int) *metav1.MicroTime {
	return ptr.To(metav1.NewMicroTime(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)))
}

func TestWatchConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := w.manager(t).Watch(t.Context(), lease.WatchConfig{Every: -1, Soon: time.Second, Timeout: -1})
	if !errors.Is(err, lease.ErrInvalid) {
		t.Fatalf("%v, want ErrInvalid", err)
	}
	for _, want := range []string{"Every is -1ns", "Timeout is -1ns", "at most Every"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}
