package apply_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
)

// faulty is a bench whose requests pass a proxy that can make them fail.
func faulty(t *testing.T, c apply.Config) (*bench, *faultproxy.Proxy) {
	t.Helper()
	cluster := devtest.Cluster(t)
	proxy, err := faultproxy.ForCluster(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	b := benchOn(t, cluster, cluster.Config())
	config, requests := devtest.Count(proxy.Config(cluster.Config()))
	c.RESTConfig, c.DefaultNamespace = config, b.namespace
	b.Deliverer, b.requests = newDeliverer(t, c), requests
	return b, proxy
}

var ofConfigMaps = regexp.MustCompile(`/configmaps`)

func TestPassingFaultsAreTriedAgain(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"conflict":          {Do: faultproxy.Answer(http.StatusConflict)},
		"throttled":         {Do: faultproxy.TooManyRequests(0)},
		"failed":            {Do: faultproxy.Answer(http.StatusInternalServerError)},
		"unavailable":       {Do: faultproxy.Answer(http.StatusServiceUnavailable)},
		"cut":               {Do: faultproxy.Cut()},
		"stalled":           {Do: faultproxy.Stall()},
		"done, yet unheard": {Do: faultproxy.Cut(), AfterUpstream: true},
		"done, yet failed":  {Do: faultproxy.Answer(http.StatusInternalServerError), AfterUpstream: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, proxy := faulty(t, apply.Config{RequestTimeout: 3 * time.Second})
			rule.Method, rule.Path, rule.Times = http.MethodPatch, ofConfigMaps, 2
			r := b.request(t, configMap)
			guarded := 0
			r.Guard = func(context.Context) error { guarded++; return nil }
			fault := proxy.Add(rule)
			if _, err := b.Deliver(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			tries := 3
			if rule.AfterUpstream {
				tries++ // the object is there already, and has to be looked at first
			}
			if fault.Hits() != 2 || guarded != tries {
				t.Errorf("%d faults, %d tries with leave, want %d", fault.Hits(), guarded, tries)
			}
			if o := b.wait(t, r.Resolved); !o.Healthy() {
				t.Errorf("saw %+v", o)
			}
		})
	}
}

func TestLastingFaultsEndClearly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   faultproxy.Action
		says string
	}{
		"throttled":    {faultproxy.TooManyRequests(60 * time.Second), "Run it again"},
		"failed":       {faultproxy.Answer(http.StatusInternalServerError), "Run it again"},
		"unauthorized": {faultproxy.Answer(http.StatusUnauthorized), "Renew the credentials"},
		"cut":          {faultproxy.Cut(), "is up"},
		"stalled":      {faultproxy.Stall(), "did not answer within 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := apply.Config{RetryFor: time.Second}
			if name == "stalled" {
				c.RequestTimeout = 3 * time.Second
			}
			b, proxy := faulty(t, c)
			r := b.request(t, configMap+"\n---\n"+deployment)
			proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: ofConfigMaps, Do: tt.do})
			result, err := b.Deliver(t.Context(), r)
			var e *lifecycle.Error
			if !errors.Is(err, lifecycle.ErrUnreachable) || !errors.As(err, &e) || len(result.Changes) > 0 {
				t.Fatalf("got %v, %v", result, err)
			}
			mustContain(t, err.Error(), tt.says, "apply ConfigMap "+b.namespace+"/settings")
			if list, err := b.admin.AppsV1().Deployments(b.namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
				t.Errorf("the delivery went on: %v %v", list.Items, err)
			}
		})
	}
}

func TestUnreachableClusterIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	d := newDeliverer(t, apply.Config{RESTConfig: &rest.Config{Host: "https://127.0.0.1:1"}})
	_, err := d.Resolve(t.Context(), objects(t, "shop", configMap))
	if !errors.Is(err, lifecycle.ErrUnreachable) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "127.0.0.1:1", "connection refused", "Check that the cluster")
}

func TestCancelledDeliveryStops(t *testing.T) {
	t.Parallel()
	b, proxy := faulty(t, apply.Config{})
	r := b.request(t, configMap)
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Do: faultproxy.Stall()})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-fault.Reached()
		cancel(errEnough)
	}()
	if _, err := b.Deliver(ctx, r); !errors.Is(err, errEnough) || errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

// A watch may break, and the server may have forgotten where it was.
func TestWaitSurvivesItsWatch(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]faultproxy.Action{
		"gone": faultproxy.Answer(http.StatusGone), "cut": faultproxy.Cut(),
		"failed": faultproxy.Answer(http.StatusInternalServerError), "throttled": faultproxy.TooManyRequests(0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, proxy := faulty(t, apply.Config{})
			objects := b.deliver(t, nowhere(deployment))
			fault := proxy.Add(faultproxy.Rule{
				Method: http.MethodGet, Times: 3, Do: do,
				Match: func(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" },
			})
			fixed, done := b.request(t, deployment), make(chan error, 1)
			go func() {
				<-fault.Reached()
				_, err := b.Deliver(t.Context(), fixed)
				done <- err
			}()
			b.wait(t, objects)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if fault.Hits() == 0 {
				t.Error("no watch failed")
			}
		})
	}
}

func TestWaitSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	cluster := devtest.OwnCluster(t, devenv.Options{})
	b := benchOn(t, cluster, cluster.Config())
	objects := b.deliver(t, nowhere(deployment))
	fixed := b.request(t, deployment)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		<-began
		if err := errors.Join(cluster.Kill(), cluster.Resume(ctx)); err != nil {
			done <- err
			return
		}
		_, err := b.Deliver(ctx, fixed)
		done <- err
	}()
	once := false
	_, err := b.Wait(ctx, lifecycle.ObserveRequest{Target: b.namespace, Objects: objects, Progress: func(lifecycle.Observation) {
		if !once {
			once = true
			close(began)
		}
	}})
	if err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	b, proxy := faulty(t, apply.Config{})
	r := b.request(t, configMap)
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Do: func(_ *faultproxy.Fault, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Location", b.cluster.Config().Host+"/api/v1/namespaces/"+b.namespace+"/configmaps/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return false
	}})
	if _, err := b.Deliver(t.Context(), r); err == nil || strings.Contains(err.Error(), "elsewhere") || fault.Hits() != 1 {
		t.Errorf("got %v after %d requests", err, fault.Hits())
	}
}

// Every write of a delivery fails once, before or after it was done.
func TestEveryWriteFailsOnce(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]faultproxy.Action{
		"conflict": faultproxy.Answer(http.StatusConflict), "throttled": faultproxy.TooManyRequests(0),
		"failed": faultproxy.Answer(http.StatusInternalServerError), "cut": faultproxy.Cut(),
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, done %t", name, after), func(t *testing.T) {
				t.Parallel()
				b, proxy := faulty(t, apply.Config{})
				var failed sync.Map
				fault := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Do: do, AfterUpstream: after, Match: func(r *http.Request) bool {
					_, before := failed.LoadOrStore(r.URL.Path, true)
					return !before
				}})
				r := b.request(t, severalDocs)
				deliverAll(t, b, r)
				if fault.Hits() != len(r.Objects) {
					t.Errorf("%d writes failed of %d", fault.Hits(), len(r.Objects))
				}
				again, err := b.Deliver(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range lines(again.Changes) {
					if !strings.HasPrefix(l, "unchanged ") {
						t.Errorf("then %s", l)
					}
				}
			})
		}
	}
}
