package standard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

func (s *shop) inventory(cfg *rest.Config, r standard.InventoryRequest) inventory.Report {
	s.t.Helper()
	report, err := standard.Inventory(s.t.Context(), s.target(), s.options(cfg), r)
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// found are the findings, each as one line.
func (s *shop) found(r inventory.Report) string {
	var lines []string
	for _, f := range r.Findings {
		of := f.Resource
		if f.Object != nil {
			of = f.Object.String()
		}
		lines = append(lines, strings.ReplaceAll(string(f.Problem)+" "+of, s.namespace, "NS"))
	}
	return strings.Join(lines, "\n")
}

// Who may not read the lease, or not all of what was delivered, sees what is missing of
// the rest all the same.
func TestInventoryWithoutStatus(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.reconcile(c.Config())
	if got := s.found(s.inventory(c.Config(), standard.InventoryRequest{})); got != "" {
		t.Errorf("after a delivery: %s", got)
	}
	if err := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(s.namespace).Delete(t.Context(), "settings", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	list := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list"}}
	}
	for name, tt := range map[string]struct {
		rules   []rbacv1.PolicyRule
		unknown int
		says    string
	}{
		"no lease":       {[]rbacv1.PolicyRule{list("", "configmaps"), list("apps", "deployments")}, 0, "whether the objects of the applied receipt have drifted was not seen"},
		"no deployments": {[]rbacv1.PolicyRule{list("", "configmaps"), list("coordination.k8s.io", "leases")}, 2, "whether the objects of the applied receipt have drifted was not seen"},
	} {
		config, _ := devtest.User(t, c, s.namespace, devtest.Rights{Namespaced: tt.rules})
		r := s.inventory(config, standard.InventoryRequest{})
		said := slices.ContainsFunc(r.Coverage, func(g inventory.Gap) bool { return g.Resource == "" && strings.HasPrefix(g.Message, tt.says) })
		if got := s.found(r); got != "Missing ConfigMap NS/settings" || len(r.Declared.Unknown) != tt.unknown || !said {
			t.Errorf("%s: found %s, %v not known, not read: %+v", name, got, r.Declared.Unknown, r.Coverage)
		}
	}
	// Of another namespace, nothing that was delivered is missing.
	if r := s.inventory(c.Config(), standard.InventoryRequest{Namespaces: []string{"default"}}); r.Declared.Objects != 0 || strings.Contains(s.found(r), "Missing") {
		t.Errorf("of another namespace: %+v", r.Declared)
	}
}

// What Argo CD delivers is found by name and by list, and what it no longer declares is
// an orphan, since nothing prunes it.
func TestInventoryWithArgoCD(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	cfg := s.argo.Cluster().Config()
	s.deploy(cfg)
	r := s.inventory(cfg, standard.InventoryRequest{})
	if got := s.found(r); got != "" || r.Declared.Found != r.Declared.Objects || r.Declared.Found < 6 || !slices.Equal(r.Namespaces, []string{s.namespace}) {
		t.Errorf("after a delivery: %s, %+v in %v", got, r.Declared, r.Namespaces)
	}
	s.write(map[string]string{"gitops/api/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [api.yaml]\n"})
	s.commit("Sell in no currency")
	s.reconcile(cfg)
	r = s.inventory(cfg, standard.InventoryRequest{})
	if got := s.found(r); got != "Orphaned ConfigMap NS/settings" || r.Declared.Found != r.Declared.Objects {
		t.Errorf("with an orphan: %s, %+v", got, r.Declared)
	}
}

// What earlier looks counted tells that there are ever more.
func TestInventoryTrend(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	maps := devtest.Client(t, cfg).CoreV1().ConfigMaps(s.namespace)
	const now = 10
	for n := range now {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("sandbox-", n), Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.TTL: "1h"}}}
		if _, err := maps.Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	first := s.inventory(cfg, standard.InventoryRequest{})
	if got := s.found(first); got != "" {
		t.Errorf("by one reading: %s", got)
	}
	samples, err := standard.NewInventorySamples(s.target(), s.options(cfg))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		sample := first.Sample()
		sample.Time = first.Time.Add(time.Duration(n-8) * time.Hour)
		sample.Counts = map[string]int{"configmaps": n}
		if err := samples.Add(t.Context(), sample); err != nil {
			t.Fatal(err)
		}
	}
	r := s.inventory(cfg, standard.InventoryRequest{})
	if got := s.found(r); got != "Climbing configmaps" || r.Transient[0].Trend == nil || r.Transient[0].Trend.Readings != 9 {
		t.Errorf("by nine readings: %s, %+v", got, r.Transient)
	}
}
