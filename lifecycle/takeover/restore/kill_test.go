package restore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// life is what such a process does.
type life struct {
	Kubeconfig, Namespace string
	// Write is that at which it dies, counted from 1: before it is made, or when the
	// server has answered if Late is set.
	Write int
	Late  bool
}

func TestMain(m *testing.M) {
	killtest.Main(m, func(ctx context.Context, l life) error { return l.live(ctx) })
}

// live makes one pass.
func (l life) live(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		return err
	}
	writes := 0 // that were made: one that meets a rollout's is made again
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return next.RoundTrip(r)
			}
			if writes+1 == l.Write && !l.Late {
				killtest.Die()
			}
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode < http.StatusBadRequest {
				writes++
			}
			if writes == l.Write {
				killtest.Die()
			}
			return resp, err
		})
	})
	r, err := restorer(config, l.Namespace, nil)
	if err != nil {
		return err
	}
	_, err = r.Pass(ctx)
	return err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Killed before or after each of its writes, it leaves what the next one finishes.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	// That it is ending; two for each workload; the session object.
	const writes = 6
	for _, late := range []bool{false, true} {
		for n := 1; n <= writes+1; n++ {
			t.Run(fmt.Sprintf("write %d, late: %t", n, late), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.takenOver(time.Hour, 0, "api", "web")
				for name := range b.was { // a write that meets that of a rollout is made again
					b.settled(name)
				}
				b.release()
				l := life{Kubeconfig: devtest.Kubeconfig(t, b.cluster.Config()), Namespace: b.namespace, Write: n, Late: late}
				if killed := killtest.Run(t, l); killed != (n <= writes) {
					t.Errorf("killed: %t", killed)
				}
				_, err := b.store.Load(t.Context())
				gone := errors.Is(err, journal.ErrNone)
				if gone && n < writes || !gone && n > writes {
					t.Errorf("killed at write %d, the session object: %v", n, err)
				}
				if report := b.pass(b.restorer(b.cluster.Config(), nil)); report.Done == gone {
					t.Errorf("got %+v", report)
				}
				b.whole(false)
			})
		}
	}
}

// Whatever becomes of any of its writes, all is whole after a few passes at most.
func TestFaultsAtEveryWrite(t *testing.T) {
	t.Parallel()
	writing := regexp.MustCompile("^(PATCH|DELETE)$")
	for name, do := range map[string]faultproxy.Action{
		"409": faultproxy.Answer(http.StatusConflict), "429": faultproxy.TooManyRequests(0), "500": faultproxy.Answer(http.StatusInternalServerError),
		"no answer": faultproxy.Stall(), "a cut": faultproxy.Cut(),
	} {
		for _, after := range []bool{false, true} {
			for write := range 4 {
				t.Run(fmt.Sprintf("%s, after: %t, write %d", name, after, write+1), func(t *testing.T) {
					t.Parallel()
					b := newBench(t)
					b.takenOver(time.Hour, 0, "api")
					b.settled("api")
					b.release()
					proxy, err := faultproxy.ForCluster(b.cluster.Config())
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(proxy.Close)
					fault := proxy.Add(faultproxy.Rule{Match: func(r *http.Request) bool { return writing.MatchString(r.Method) }, Skip: write, Times: 1, AfterUpstream: after, Do: do})
					config := proxy.Config(b.cluster.Config())
					config.Timeout = 2 * time.Second
					r := b.restorer(config, nil)
					restored := false
					for range 3 {
						report, err := r.Pass(t.Context())
						for _, w := range report.Workloads {
							restored = restored || w.Outcome == divert.OutcomeRestored
						}
						if err == nil {
							break
						}
						t.Log(err)
					}
					if fault.Hits() != 1 || !restored {
						t.Errorf("%d hits, and it said that it restored it: %t", fault.Hits(), restored)
					}
					b.whole(false)
				})
			}
		}
	}
}
