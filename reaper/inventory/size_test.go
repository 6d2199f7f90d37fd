package inventory_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

// Many objects are read in pages, each once, also if the server forgets the pages
// while they are read.
func TestManyObjects(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n := sizetest.Of(2_000, 10_000)
	config, counter := devtest.Count(b.cluster.Config())
	config.QPS = -1
	maps := devtest.Client(t, config).CoreV1().ConfigMaps(b.namespace)
	declared := &inventory.Declaration{}
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for k := range n {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m-", k)}}
		switch {
		case k%2 == 0:
			m.Labels, m.Annotations = map[string]string{keys.Intent: "transient"}, map[string]string{keys.TTL: "1h"}
		case k%4 == 1:
			m.Labels = map[string]string{keys.Target: "devbox"}
			declared.Objects = append(declared.Objects, inventory.DeclaredObject{Ref: inventory.Ref{Kind: "ConfigMap", Namespace: b.namespace, Name: m.Name}})
		}
		g.Go(func() error { _, err := maps.Create(ctx, m, metav1.CreateOptions{}); return err })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	request := inventory.Request{Namespaces: []string{b.namespace}, Declared: declared}
	check := func(t *testing.T, r inventory.Report) {
		t.Helper()
		if d := r.Declared; d.Found != n/4 || len(d.Missing) > 0 || len(d.Unknown) > 0 || r.Others["configmaps"] != n/4 || len(r.Coverage) > 0 {
			t.Errorf("found %d, missing %d, others %v, coverage %+v", d.Found, len(d.Missing), r.Others, r.Coverage)
		}
		for _, g := range r.Transient {
			if g.Resource == "configmaps" && g.Count != n/2 {
				t.Errorf("%d are transient, want %d", g.Count, n/2)
			}
		}
	}
	counter.Reset()
	begin := time.Now()
	r := take(t, config, inventory.Config{Target: "devbox"}, request)
	t.Logf("%d objects took %v", n, time.Since(begin))
	check(t, r)
	pages := 0
	for _, request := range counter.Requests() {
		if strings.HasSuffix(request.Path, "/configmaps") {
			pages++
			if !strings.Contains(request.Query, "limit=500") {
				t.Errorf("a list without a limit: %s", request.Query)
			}
		}
	}
	if pages != (n+500)/500 { // and the root certificate
		t.Errorf("%d pages of configmaps", pages)
	}

	expired, fault := faulty(t, b.cluster.Config(), faultproxy.Rule{
		Match: func(r *http.Request) bool { return r.URL.Query().Has("continue") }, Skip: 1, Times: 1, Do: faultproxy.Answer(http.StatusGone),
	})
	check(t, take(t, expired, inventory.Config{Target: "devbox"}, request))
	if fault.Hits() != 1 {
		t.Errorf("the pages did not expire")
	}
}
