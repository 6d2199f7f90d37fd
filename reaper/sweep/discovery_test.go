package sweep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// ownWorld is a namespace of a cluster whose resources the test may change.
func ownWorld(t *testing.T) world {
	t.Helper()
	c := devtest.OwnCluster(t, devenv.Options{NoNode: true})
	return world{t, c, devtest.Client(t, c.Config()), devtest.Namespace(t, c)}
}

// post creates an object of any kind.
func (w world) post(path string, object map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.admin.CoreV1().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(w.t.Context()).Error()
	if err != nil {
		w.t.Fatal(err)
	}
}

// await waits until discovery is as it should be.
func await(t *testing.T, e *sweep.Ender, names []string, is func([]sweep.Resource, []sweep.Gap) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		resources, gaps, err := e.Resources(ctx, names)
		return err == nil && is(resources, gaps), err
	})
	if err != nil {
		t.Fatalf("wait for discovery: %v", err)
	}
}

// An API server that names no groups is not believed: a namespace stays that holds what is
// retained in one of them.
func TestEmptyDiscovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := devtest.Namespace(t, w.cluster)
	made, err := w.admin.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:"transient"},"annotations":{%q:"2020-01-02T03:04:05Z"}}}`, keys.Intent, keys.ExpiresAt), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.admin.NetworkingV1().NetworkPolicies(ns).Create(t.Context(),
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "kept", Labels: map[string]string{keys.Intent: "retained"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := faultproxy.ForCluster(w.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	for _, path := range []string{"^/apis$", "^/api$"} {
		empty := proxy.Add(faultproxy.Rule{Path: regexp.MustCompile(path), Do: func(_ *faultproxy.Fault, rw http.ResponseWriter, _ *http.Request) bool {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write([]byte(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[]}`))
			return false
		}})
		res, err := ender(t, proxy.Config(w.cluster.Config())).End(t.Context(), namespaces, "", ns, string(made.UID))
		if err == nil || !strings.Contains(err.Error(), "names no group") {
			t.Errorf("%s: it is %q, %v; want an error", path, res.Outcome, err)
		}
		empty.Remove()
	}
}

// Who may not ask what there is, is told so in the server's own words.
func TestForbiddenDiscovery(t *testing.T) {
	t.Parallel()
	nobody := rest.AnonymousClientConfig(devtest.Cluster(t).Config())
	if _, _, err := ender(t, nobody).Resources(t.Context(), []string{"pods"}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `cannot get path "/api"`) {
		t.Errorf("error %v", err)
	}
}

const snapshots = "volumesnapshots.snapshot.storage.k8s.io"

func TestResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.ender()
	names := func(resources []sweep.Resource) (names []string) {
		for _, r := range resources {
			names = append(names, r.String())
		}
		return names
	}
	chosen, gaps, err := e.Resources(t.Context(), sweep.DefaultResources())
	if err != nil || len(gaps) != 0 || len(chosen) != len(sweep.DefaultResources()) || chosen[0].String() != "namespaces" {
		t.Errorf("the default: got %q, %v, %v", names(chosen), gaps, err)
	}
	all, gaps, err := e.Resources(t.Context(), []string{sweep.Everything})
	if err != nil || len(gaps) != 0 {
		t.Fatal(gaps, err)
	}
	for name, in := range map[string]bool{
		"namespaces": true, "configmaps": true, "deployments.apps": true, "clusterroles.rbac.authorization.k8s.io": true,
		"secrets": false, "events": false, "endpoints": false, "events.events.k8s.io": false, "componentstatuses": false, "bindings": false,
	} {
		if slices.Contains(names(all), name) != in {
			t.Errorf("%s is in everything: %t", name, !in)
		}
	}
	chosen, gaps, err = e.Resources(t.Context(), []string{"secrets", "deployments", "ConfigMap", "nothing.example.org", "bindings", "secrets"})
	if err != nil || !slices.Equal(names(chosen), []string{"secrets"}) || len(gaps) != 4 {
		t.Fatalf("got %q, %v, %v", names(chosen), gaps, err)
	}
	for _, want := range []string{"ConfigMap: the API server has no such resource: is it configmaps?", "bindings: it cannot be listed, watched and deleted",
		"deployments: the API server has no such resource: is it deployments.apps?", "nothing.example.org: the API server has no such resource: see kubectl api-resources -o name"} {
		if !slices.ContainsFunc(gaps, func(g sweep.Gap) bool { return g.What+": "+g.Why == want }) {
			t.Errorf("%q is not among %v", want, gaps)
		}
	}
}

// An API group whose server does not answer hides what it has: nothing of it is taken
// for absent, and all else goes on.
func TestDiscoveryOfAGroupFails(t *testing.T) {
	t.Parallel()
	w := ownWorld(t)
	e := w.ender()
	ns := w.over()
	m := w.configMap(transient("over", past))
	const group = "absent.example.org"
	w.post("/apis/apiregistration.k8s.io/v1/apiservices", map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + group},
		"spec": map[string]any{"group": group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": "default", "name": "nobody"}},
	})
	await(t, e, []string{sweep.Everything}, func(_ []sweep.Resource, gaps []sweep.Gap) bool { return len(gaps) == 1 && gaps[0].What == group+"/v1" })

	res := w.endNamespace(e, ns, sweep.Refused)
	if len(res.Gaps) != 1 || res.Gaps[0].What != group+"/v1" || res.Decision.Reason != reaper.Holds {
		t.Errorf("got %+v", res)
	}
	w.wantAlive()
	for name, tt := range map[string]struct {
		resources []string
		gap       string
	}{
		"everything":                {[]string{sweep.Everything}, group + "/v1"},
		"a resource of that group":  {[]string{"configmaps", "things." + group}, "things." + group},
		"none of that group":        {[]string{"configmaps"}, ""},
		"a namespace, which it may": {[]string{"namespaces"}, ""},
	} {
		report, err := ender(t, w.cluster.Config(), func(c *sweep.Config) { c.DryRun = true }).Pass(t.Context(), sweep.PassOptions{Resources: tt.resources, Namespace: w.ns})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(report.Gaps) == 1 {
			got = report.Gaps[0].What
		}
		if got != tt.gap {
			t.Errorf("%s: gaps %v, want %q", name, report.Gaps, tt.gap)
		}
	}
	report, err := e.Pass(t.Context(), sweep.PassOptions{Resources: []string{sweep.Everything}, Namespace: w.ns})
	if err != nil || report.Counts.Deleted != 1 || report.Counts.Refused != 1 || len(report.Findings) != 1 || report.Clean() {
		t.Errorf("got %+v, %v", report, err)
	}
	if w.exists(m) {
		t.Error("what can be ended was not")
	}
}

func TestDurableArtefactKeepsItsNamespace(t *testing.T) {
	t.Parallel()
	w := ownWorld(t)
	e := w.ender()
	w.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": snapshots, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, a test"}},
		"spec": map[string]any{"group": "snapshot.storage.k8s.io", "scope": "Namespaced",
			"names": map[string]any{"plural": "volumesnapshots", "singular": "volumesnapshot", "kind": "VolumeSnapshot", "listKind": "VolumeSnapshotList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}}},
	})
	await(t, e, []string{snapshots}, func(r []sweep.Resource, _ []sweep.Gap) bool { return len(r) == 1 })
	snapshot := func(name string, labels map[string]any) {
		w.post(fmt.Sprintf("/apis/snapshot.storage.k8s.io/v1/namespaces/%s/volumesnapshots", w.ns), map[string]any{
			"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": map[string]any{"name": name, "labels": labels}})
	}
	ns := w.over()
	snapshot("with-it", map[string]any{keys.Intent: "transient"})
	w.endNamespace(w.ender(func(c *sweep.Config) { c.DryRun = true }), ns, sweep.WouldDelete)
	snapshot("backup", nil)
	res := w.endNamespace(e, ns, sweep.Refused)
	if len(res.Held) != 1 || res.Held[0].Resource != snapshots || res.Held[0].Name != "backup" || !strings.Contains(res.Held[0].Why, "durable") {
		t.Errorf("got %+v", res)
	}
	w.wantAlive()
}

// Whatever is written on them, the system's namespaces and what is of every namespace
// stay.
func TestSystemStays(t *testing.T) {
	t.Parallel()
	w := ownWorld(t)
	ctx := t.Context()
	mark := []byte(`{"metadata":{"labels":{"pharos.dev/intent":"transient"},"annotations":{"pharos.dev/expires-at":"2020-01-02T03:04:05Z"}}}`)
	const merge = "application/merge-patch+json"
	system := []string{"default", "kube-system", "kube-public", "kube-node-lease"}
	for _, name := range append(slices.Clone(system), w.ns) {
		if _, err := w.admin.CoreV1().Namespaces().Patch(ctx, name, merge, mark, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.admin.CoreV1().ConfigMaps("kube-system").Create(ctx, &corev1.ConfigMap{ObjectMeta: transient("over", past)}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.admin.CoreV1().Services("default").Patch(ctx, "kubernetes", merge, mark, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	audit := devtest.RecordAudit(t, w.cluster)
	protected := w.ender(func(c *sweep.Config) { c.Rules.ProtectedNamespaces = []string{w.ns} })
	report, err := protected.Pass(ctx, sweep.PassOptions{Resources: []string{sweep.Everything}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Counts.Refused != len(system)+3 || report.Counts.Deleted != 0 || len(report.Findings) != len(system)+3 {
		t.Errorf("got %+v", report)
	}
	for _, f := range report.Findings {
		if f.Reason != reaper.ProtectedName {
			t.Errorf("%s %s: %s", f.Resource, f.Name, f.Reason)
		}
	}
	for _, e := range audit.Events(t, nil) {
		if e.Verb == "delete" && !strings.HasPrefix(e.User, "system:") {
			t.Errorf("%s deleted %s", e.User, e.RequestURI)
		}
	}
}
