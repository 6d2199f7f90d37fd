package lease_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
)

// keeping waits until Keep waits for the clock, and moves it.
func (w *world) keeping(d time.Duration) {
	w.server.awaitTimer()
	w.server.advance(d)
}

func TestKeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager(t)
	h := acquire(t, m, deliver)
	start := w.server.Now()
	lost, stop := h.Keep(t.Context())
	for range 20 {
		w.keeping(10 * time.Second)
	}
	w.server.awaitTimer()
	if got := inspect(t, m).Expires.Sub(start); got != 230*time.Second {
		t.Errorf("after 200 s the end is at %s, want 230 s", got)
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
	stop()
	stop()
	if err, ok := <-lost; ok {
		t.Errorf("lost: %v", err)
	}
	if err := h.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKeepEndsWithContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := acquire(t, w.manager(t), deliver)
	ctx, cancel := context.WithCancel(t.Context())
	lost, stop := h.Keep(ctx)
	w.server.awaitTimer()
	cancel()
	if err, ok := <-lost; ok {
		t.Errorf("lost: %v", err)
	}
	stop()
	if err := h.Check(t.Context()); err != nil {
		t.Errorf("the lease went with the context: %v", err)
	}
}

func TestKeepReportsLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := acquire(t, w.manager(t), deliver)
	lost, stop := h.Keep(t.Context())
	defer stop()
	w.keeping(10 * time.Second)
	w.server.awaitTimer()
	w.edit(t, func(l *coordinationv1.Lease) {
		l.Spec.HolderIdentity = ptr.To("thief")
		l.Annotations["pharos.dev/lease-user"] = "eve"
	})
	w.server.advance(10 * time.Second)
	if err := <-lost; !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "eve acquired it") {
		t.Errorf("%v, want ErrLost", err)
	}
	if err, ok := <-lost; ok {
		t.Errorf("and then %v", err)
	}
	if err := h.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Check: %v, want ErrLost", err)
	}
}

// A lease that has reached its limit is kept until then, and lost.
func TestKeepToTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(w.server)
	config.Borrow = lease.Timing{Duration: 2 * time.Minute, RenewEvery: time.Minute, Max: 4 * time.Minute}
	h := acquire(t, manager(t, config), borrow)
	start := w.server.Now()
	lost, stop := h.Keep(t.Context())
	defer stop()
	for range 3 {
		w.keeping(time.Minute)
	}
	// It does not sleep through the end.
	w.keeping(time.Minute - 3*time.Second)
	if err := <-lost; !errors.Is(err, lease.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	if got := w.server.Now().Sub(start); got != 4*time.Minute-3*time.Second {
		t.Errorf("lost at %s, want the limit of 4 min less the margin of 3 s", got)
	}
}

// A server in trouble is asked again until the lease ends.
func TestKeepThroughTrouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy, err := faultproxy.ForCluster(w.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	config := w.config(w.server)
	config.REST = withServerTime(proxy.Config(w.cluster.Config()), w.server.Now)
	h := acquire(t, manager(t, config), deliver)
	start := w.server.Now()
	lost, stop := h.Keep(t.Context())
	defer stop()
	w.server.awaitTimer()

	trouble := proxy.Add(faultproxy.Rule{Do: faultproxy.Answer(http.StatusInternalServerError)})
	w.server.advance(10 * time.Second)
	for trouble.Hits() < 4 {
		w.keeping(100 * time.Millisecond)
	}
	trouble.Remove()
	for h.State().Expires.Sub(start) == 30*time.Second {
		w.keeping(time.Second)
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}

	w.server.awaitTimer()
	trouble = proxy.Add(faultproxy.Rule{Do: faultproxy.Cut()})
	result := make(chan error, 1)
	go func() {
		result <- <-lost
		w.server.end()
	}()
	for w.server.awaitTimer() {
		w.server.advance(200 * time.Millisecond)
	}
	if err := <-result; !errors.Is(err, lease.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
	if trouble.Hits() < 3 {
		t.Errorf("it was lost after %d tries", trouble.Hits())
	}
	if left := h.State().Expires.Sub(w.server.Now()); left > 4*time.Second || left < 2*time.Second {
		t.Errorf("it was lost %s before its end, want the margin of 3 s and at most the second that the server cuts off", left)
	}
}
