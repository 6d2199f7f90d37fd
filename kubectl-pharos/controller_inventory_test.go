package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

// With one setting of the target its controller keeps what the inventory counts, of the
// same scope as people see it, so that there is a trend without anybody having looked.
func TestDeliveredControllerRecordsInventory(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
	waits := metav1.ObjectMeta{Name: "waits", Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.TTL: "1d"}}
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: waits}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	audit := devtest.RecordAudit(t, c)
	r := deployedController(t, c, ns, "{inventory: true}")
	r.says(`msg="recorded the inventory"`, "target="+ns+"/"+ns)
	if rest, code := r.end(syscall.SIGTERM); code != exitDone || strings.Contains(rest, "level=WARN") {
		t.Errorf("exit code %d: %s", code, rest)
	}
	kept, err := maps.Get(t.Context(), "pharos-"+ns+".inventory", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var samples []inventory.Sample
	if err := json.Unmarshal([]byte(kept.Data["samples.json"]), &samples); err != nil || len(samples) != 1 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	report, err := standard.Inventory(t.Context(), standard.Target{Namespace: ns}, standard.Options{REST: c.Config()}, standard.InventoryRequest{Namespaces: []string{ns}})
	if err != nil {
		t.Fatal(err)
	}
	if s := samples[0]; s.Scope != report.Sample().Scope || s.Counts["configmaps"] != 1 || s.Partial {
		t.Errorf("the sample is %+v, and people's %+v", s, report.Sample())
	}

	used := map[string]bool{}
	user := "system:serviceaccount:" + ns + ":pharos-" + ns + "-controller"
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code < http.StatusBadRequest {
			used[e.Verb+" "+e.Resource] = true
		}
		if e.Code == http.StatusForbidden && e.Verb != "list" { // what is not counted
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
	}
	_, rights := preparedController(t, standard.Controller{Asked: standard.TargetController{Inventory: true}}, lifecycle.PrepareRequest{Target: ns, Namespace: ns})
	for _, rule := range append(rights.Namespaced, rights.ClusterWide...) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				// Events are of leases; Secrets of takeovers, of which there is none; not every
				// cluster has snapshots; a second sample updates.
				if resource != "events" && resource != "secrets" && resource != "volumesnapshots" && verb != "update" && !used[verb+" "+resource] {
					t.Errorf("the right to %s %s is given and not used", verb, resource)
				}
			}
		}
	}
}

// A second sample replaces the ConfigMap, with the rights that deploy gives.
func TestRecordInventoryAgain(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	_, rights := preparedController(t, standard.Controller{Asked: standard.TargetController{Inventory: true}}, lifecycle.PrepareRequest{Target: "devbox", Namespace: ns})
	config, _ := devtest.User(t, c, ns, rights)
	target, o := standard.Target{Name: "devbox", Namespace: ns}, standard.Options{REST: config}
	sample, err := standard.RecordInventory(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := standard.NewInventorySamples(target, o)
	if err != nil {
		t.Fatal(err)
	}
	sample.Time = sample.Time.Add(inventory.MinSampleGap)
	if err := samples.Add(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	if all, err := samples.Load(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%d samples, %v", len(all), err)
	}
	less := devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}}
	config, _ = devtest.User(t, c, ns, less)
	if _, err := standard.RecordInventory(t.Context(), target, standard.Options{REST: config}); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("without the right to read what is applied: %v", err)
	}
}

// Flags that do not fit are named, before a cluster is asked.
func TestControllerInventoryFlags(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--record-inventory needs --watch-target":   {"--record-inventory=15m", "--leader-lease=a/b"},
		"--record-inventory is 1m0s, and has to be": {"--record-inventory=1m", "--leader-lease=a/b", "--watch-target=a/b"},
	} {
		p := start(t, t.TempDir(), []string{"KUBECONFIG=" + os.DevNull}, append([]string{"controller", "--health-address=127.0.0.1:0"}, args...)...)
		if said, code := p.rest(); code == exitDone || !strings.Contains(said, want) {
			t.Errorf("%v: exit code %d, and not %q: %s", args, code, want, said)
		}
	}
}
