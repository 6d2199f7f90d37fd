package inventory_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

func samples(t *testing.T, as *rest.Config, namespace string) *inventory.Samples {
	t.Helper()
	s, err := inventory.NewSamples(inventory.SamplesConfig{REST: as, Namespace: namespace, Target: "devbox"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func sample(scope string, minutes int) inventory.Sample {
	return inventory.Sample{Time: noon.Add(time.Duration(minutes) * time.Minute), Scope: scope, Counts: map[string]int{"pods": minutes}}
}

func kept(t *testing.T, s *inventory.Samples) string {
	t.Helper()
	list, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s %d\n", s.Scope, s.Counts["pods"])
	}
	return b.String()
}

func TestSamples(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update"}},
	}})
	s := samples(t, config, b.namespace)
	if got := kept(t, s); got != "" {
		t.Errorf("kept at first: %s", got)
	}
	for _, next := range []inventory.Sample{sample("shop", 0), sample("shop", 4), sample("all", 4), sample("shop", 5), sample("shop", 3), sample("shop", 60)} {
		if err := s.Add(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	if got := kept(t, s); got != "shop 0\nall 4\nshop 5\nshop 60\n" {
		t.Errorf("kept: %s", got)
	}
	// It is Pharos's own, and no orphan, nor what somebody made.
	r := take(t, b.cluster.Config(), inventory.Config{Target: "devbox"}, inventory.Request{Namespaces: []string{b.namespace}, Declared: &inventory.Declaration{}})
	if len(r.Findings) > 0 || r.Others["configmaps"] > 0 {
		t.Errorf("with kept samples: %+v, %v", r.Findings, r.Others)
	}
	reader, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Existing: "view"})
	if err := samples(t, reader, b.namespace).Add(t.Context(), sample("shop", 600)); err == nil || !strings.Contains(err.Error(), "pharos-devbox.inventory") {
		t.Errorf("a reader adds: %v", err)
	}

	maps := devtest.Client(t, b.cluster.Config()).CoreV1().ConfigMaps(b.namespace)
	if _, err := maps.Patch(t.Context(), "pharos-devbox.inventory", types.MergePatchType, []byte(`{"data":{"samples.json":"{"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); !errors.Is(err, inventory.ErrSamples) || !strings.Contains(err.Error(), "Delete the ConfigMap") {
		t.Errorf("damaged: %v", err)
	}
	if err := s.Add(t.Context(), sample("shop", 600)); !errors.Is(err, inventory.ErrSamples) {
		t.Errorf("add to damaged ones: %v", err)
	}
	if err := maps.Delete(t.Context(), "pharos-devbox.inventory", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), sample("shop", 600)); err != nil || kept(t, s) != "shop 600\n" {
		t.Errorf("begun anew: %v", err)
	}
}

// A sample of a clock that was fast keeps no later one out.
func TestSamplesOfAFastClock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := samples(t, b.cluster.Config(), b.namespace)
	for _, next := range []inventory.Sample{sample("shop", 0), sample("all", 600_000), sample("shop", 525_600), sample("shop", 15), sample("all", 15), sample("shop", 30)} {
		if err := s.Add(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	if got := kept(t, s); got != "shop 0\nshop 15\nall 15\nshop 30\n" {
		t.Errorf("kept: %s", got)
	}
}

// Of several processes that add at once, none loses the sample of another; and an
// answer that is lost does not count twice.
func TestSamplesTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const scopes = 3
	var wg sync.WaitGroup
	errs := make([]error, scopes)
	for n := range scopes {
		s := samples(t, b.cluster.Config(), b.namespace)
		wg.Go(func() { errs[n] = s.Add(t.Context(), sample(fmt.Sprint(n), n)) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if got := kept(t, samples(t, b.cluster.Config(), b.namespace)); strings.Count(got, "\n") != scopes {
		t.Errorf("kept: %s", got)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		b := newBench(t)
		direct := samples(t, b.cluster.Config(), b.namespace)
		if method == http.MethodPut {
			if err := direct.Add(t.Context(), sample("a", 0)); err != nil {
				t.Fatal(err)
			}
		}
		config, fault := faulty(t, b.cluster.Config(), faultproxy.Rule{Method: method, Times: 1, AfterUpstream: true, Do: faultproxy.Cut()})
		first := samples(t, config, b.namespace).Add(t.Context(), sample("b", 0))
		again := direct.Add(t.Context(), sample("b", 0))
		if got := kept(t, direct); again != nil || strings.Count(got, "b 0\n") != 1 || fault.Hits() != 1 {
			t.Errorf("%s: %v, then %v, and kept %s", method, first, again, got)
		}
	}
}
