package divert_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// faulty is a connection on which writes fail.
func (b *bench) faulty(rule faultproxy.Rule) (*rest.Config, *faultproxy.Fault) {
	b.Helper()
	proxy, err := faultproxy.ForCluster(b.cluster.Config())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(proxy.Close)
	rule.Method = http.MethodPatch
	fault := proxy.Add(rule)
	config := proxy.Config(b.cluster.Config())
	config.Timeout = 2 * time.Second // for an answer that does not come
	return config, fault
}

var failures = map[string]faultproxy.Action{
	"409": faultproxy.Answer(http.StatusConflict), "429": faultproxy.TooManyRequests(0), "500": faultproxy.Answer(http.StatusInternalServerError),
	"no answer": faultproxy.Stall(), "a cut": faultproxy.Cut(),
}

// Whatever becomes of the answer to a diversion, made or not, it is diverted.
func TestFaultsOfADiversion(t *testing.T) {
	t.Parallel()
	for name, do := range failures {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after: %t", name, after), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				was := b.deliver(original)
				d := b.plan()
				config, fault := b.faulty(faultproxy.Rule{Times: 1, Do: do, AfterUpstream: after})
				if err := b.writer(config, nil).Divert(t.Context(), d); err != nil {
					t.Errorf("got %v", err)
				}
				if fault.Hits() != 1 || imageOf(t, b.live()) != agent {
					t.Errorf("%d hits, and the image is %s", fault.Hits(), imageOf(t, b.live()))
				}
				b.restore(b.writer(b.cluster.Config(), nil), d)
				b.whole(was)
			})
		}
	}
}

// The same of each of the two writes that put it back.
func TestFaultsOfARestoration(t *testing.T) {
	t.Parallel()
	for name, do := range failures {
		for _, after := range []bool{false, true} {
			for write := range 2 {
				t.Run(fmt.Sprintf("%s, after: %t, write %d", name, after, write+1), func(t *testing.T) {
					t.Parallel()
					b := newBench(t)
					was := b.deliver(original)
					d := b.plan()
					if err := b.writer(b.cluster.Config(), nil).Divert(t.Context(), d); err != nil {
						t.Fatal(err)
					}
					b.rolledOut()
					config, fault := b.faulty(faultproxy.Rule{Skip: write, Times: 1, Do: do, AfterUpstream: after})
					if r := b.restore(b.writer(config, nil), d); r.Outcome != divert.OutcomeRestored || len(r.Restored) != len(d.Values) {
						t.Errorf("got %+v", r)
					}
					if fault.Hits() != 1 {
						t.Errorf("%d hits", fault.Hits())
					}
					b.whole(was)
				})
			}
		}
	}
}

// What fails for good says so, and the next call goes on.
func TestFaultsForGood(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			was := b.deliver(original)
			d := b.plan()
			config, _ := b.faulty(faultproxy.Rule{Do: faultproxy.Answer(code)})
			w := b.writer(config, nil)
			if err := w.Divert(t.Context(), d); err == nil || errors.Is(err, divert.ErrRejected) != (code < 500) || errors.Is(err, divert.ErrChanged) {
				t.Errorf("got %v", err)
			}
			if now := b.live(); spec(t, now) != spec(t, was) {
				t.Error("it was changed")
			}
			if err := b.writer(b.cluster.Config(), nil).Divert(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			b.rolledOut()
			if _, err := w.Restore(t.Context(), d); err == nil || errors.Is(err, divert.ErrRejected) != (code < 500) {
				t.Errorf("got %v", err)
			}
			b.restore(b.writer(b.cluster.Config(), nil), d)
			b.whole(was)
		})
	}
}

// What cannot be read is not written.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.diverted()
	proxy, err := faultproxy.ForCluster(b.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.Add(faultproxy.Rule{Do: faultproxy.Answer(http.StatusServiceUnavailable)})
	if _, err := b.writer(proxy.Config(b.cluster.Config()), nil).Restore(t.Context(), d); err == nil || errors.Is(err, divert.ErrGone) {
		t.Errorf("got %v", err)
	}
	for _, r := range proxy.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("it wrote: %s %s", r.Method, r.Path)
		}
	}
}
