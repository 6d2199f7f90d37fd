package lease_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
)

// behind returns the world's configuration through a proxy that fails, with a
// clock that jumps: waiting before another try takes no time.
func (w *world) behind(t *testing.T) (lease.Config, *faultproxy.Proxy) {
	t.Helper()
	proxy, err := faultproxy.ForCluster(w.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	machine := newClock()
	machine.jumps = true
	config := w.config(machine)
	config.REST = withServerTime(proxy.Config(w.cluster.Config()), w.server.Now)
	return config, proxy
}

// Whatever goes wrong once with a call, the operation ends as if it had not: no
// acquisition counts twice, no renewal or release is lost.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"409":         {Do: faultproxy.Answer(http.StatusConflict)},
		"409 done":    {Do: faultproxy.Answer(http.StatusConflict), AfterUpstream: true},
		"429":         {Do: faultproxy.TooManyRequests(time.Second)},
		"500":         {Do: faultproxy.Answer(http.StatusInternalServerError)},
		"500 done":    {Do: faultproxy.Answer(http.StatusInternalServerError), AfterUpstream: true},
		"504 done":    {Do: faultproxy.Answer(http.StatusGatewayTimeout), AfterUpstream: true},
		"request cut": {Do: faultproxy.Cut()},
		"answer cut":  {Do: faultproxy.Cut(), AfterUpstream: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{http.MethodPost, http.MethodPut} {
				w := newWorld(t)
				config, proxy := w.behind(t)
				m := manager(t, config)
				rule := rule
				rule.Method, rule.Times = method, 1

				fault := proxy.Add(rule)
				h := acquire(t, m, deliver)
				if h.Token() != first {
					t.Errorf("%s: the first acquisition has token %d", method, h.Token())
				}
				if method == http.MethodPut {
					w.server.advance(time.Second)
					if err := h.Renew(t.Context()); err != nil {
						t.Errorf("%s: Renew: %v", method, err)
					}
					if s := inspect(t, m); !s.Expires.Equal(w.server.Now().Add(30 * time.Second)) {
						t.Errorf("%s: renewed to %+v", method, s)
					}
				}
				if fault.Hits() != 1 {
					t.Errorf("%s: %d calls failed, want 1", method, fault.Hits())
				}

				rule.Method = http.MethodPut
				fault = proxy.Add(rule)
				if err := h.Release(t.Context()); err != nil {
					t.Errorf("Release: %v", err)
				}
				if s := inspect(t, m); s.Held || s.Holder != "" || fault.Hits() != 1 {
					t.Errorf("after Release: %+v, %d calls failed", s, fault.Hits())
				}

				fault = proxy.Add(rule)
				if h := acquire(t, m, deliver); h.Token() != first+1 || fault.Hits() != 1 {
					t.Errorf("the second acquisition has token %d, %d calls failed", h.Token(), fault.Hits())
				}
			}
		})
	}
}

// Reading fails: a Check is no permission, and the lease is not lost by that.
func TestFaultyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, proxy := w.behind(t)
	m := manager(t, config)
	h := acquire(t, m, maintain)
	for name, do := range map[string]faultproxy.Action{
		"500": faultproxy.Answer(http.StatusInternalServerError), "cut": faultproxy.Cut(), "403": faultproxy.Answer(http.StatusForbidden),
	} {
		fault := proxy.Add(faultproxy.Rule{Method: http.MethodGet, Do: do})
		for call, f := range map[string]func(context.Context) error{
			"Check": h.Check, "Renew": h.Renew,
			"Inspect": func(ctx context.Context) error { _, err := m.Inspect(ctx); return err },
			"Acquire": func(ctx context.Context) error { _, err := m.Acquire(ctx, deliver); return err },
			"Resume":  func(ctx context.Context) error { _, err := m.Resume(ctx, h.Holder()); return err },
		} {
			err := f(t.Context())
			var e *lease.Error
			if !errors.As(err, &e) || errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrHeld) {
				t.Errorf("%s with %s: %v, want a *lease.Error and neither ErrLost nor ErrHeld", call, name, err)
			}
		}
		if fault.Hits() < 5 {
			t.Errorf("%s: %d calls failed", name, fault.Hits())
		}
		fault.Remove()
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that stops answering: a call ends with its timeout.
func TestStall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config, proxy := w.behind(t)
	config.RequestTimeout = 50 * time.Millisecond
	// A busy machine may take that long to bring a request to the proxy.
	tries := 0
	config.REST = before(config.REST, func(*http.Request) { tries++ })
	m := manager(t, config)
	proxy.Add(faultproxy.Rule{Do: faultproxy.Stall()})
	if _, err := m.Inspect(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want a timeout", err)
	}
	if tries != 5 {
		t.Errorf("%d tries, want 5", tries)
	}
}

// Who gives up while the server is answering leaves no lease behind.
func TestAcquireInterrupted(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		w := newWorld(t)
		config, proxy := w.behind(t)
		m := manager(t, config)
		if method == http.MethodPut {
			if err := acquire(t, m, deliver).Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		stalled := proxy.Add(faultproxy.Rule{Method: method, Times: 1, AfterUpstream: true, Do: faultproxy.Stall()})
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := m.Acquire(ctx, borrow)
			result <- err
		}()
		<-stalled.Reached()
		if s := inspect(t, w.manager(t)); w.object(t).Name == "" || method == http.MethodPut && (!s.Held || s.Mode != lease.ModeBorrow) {
			t.Errorf("%s: %+v, want the write to have gone through", method, s)
		}
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", method, err)
		}
		if s := inspect(t, w.manager(t)); s.Held || s.Holder != "" {
			t.Errorf("%s: %+v, want nobody to hold it", method, s)
		}
	}
}

// A Lease that something writes all the time ends with the conflict, not never.
func TestEndlessConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := acquire(t, w.manager(t), deliver).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	config := w.config(w.server)
	writes := 0
	config.REST = before(config.REST, func(r *http.Request) {
		if r.Method == http.MethodPut {
			writes++
			w.edit(t, func(l *coordinationv1.Lease) { l.Labels["writes"] = time.Duration(writes).String() })
		}
	})
	_, err := manager(t, config).Acquire(t.Context(), deliver)
	var e *lease.Error
	if !errors.As(err, &e) || writes < 10 || writes > 100 {
		t.Errorf("%v after %d writes", err, writes)
	}
}
