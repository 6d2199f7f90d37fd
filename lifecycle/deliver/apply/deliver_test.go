package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

func TestCreatedUnchangedConfigured(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	docs := configMap + "\n---\n" + deployment
	r := b.request(t, docs)
	var progress []lifecycle.Change
	r.Progress = func(c lifecycle.Change) { progress = append(progress, c) }
	result, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	in := b.namespace + "/"
	want(t, "first", lines(result.Changes), "created ConfigMap "+in+"settings", "created Deployment "+in+"api")
	want(t, "progress", lines(progress), lines(result.Changes)...)

	b.wait(t, r.Resolved) // controllers have written their part, too
	again, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "again", lines(again.Changes), "unchanged ConfigMap "+in+"settings", "unchanged Deployment "+in+"api")

	r = b.request(t, strings.ReplaceAll(docs, "calm", "brisk"))
	changed, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "changed", lines(changed.Changes), "configured ConfigMap "+in+"settings", "unchanged Deployment "+in+"api")
}

func TestDefinitionsAndNamespacesComeFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	docs := strings.ReplaceAll(`
apiVersion: GROUP/v1
kind: Beacon
metadata: {name: north, namespace: NS-new}
spec: {range: 12}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NS-new}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: beacons.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: beacons, singular: beacon, kind: Beacon, listKind: BeaconList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {range: {type: integer}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: NS-new}`, "GROUP", "NS.pharos.test")
	cleanUpCluster(t, b, b.namespace+"-new", "beacons."+b.namespace+".pharos.test")

	r := b.request(t, docs)
	r.DryRun = true
	dry, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{
		"created Beacon " + b.namespace + "-new/north",
		"created ConfigMap " + b.namespace + "-new/settings",
		"created CustomResourceDefinition beacons." + b.namespace + ".pharos.test",
		"created Namespace " + b.namespace + "-new",
	}
	want(t, "dry run", lines(dry.Changes), all...)
	r.DryRun = false
	result, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "delivery", lines(result.Changes), all...)
	if o := b.wait(t, r.Resolved); len(o.Seen) != 4 {
		t.Errorf("saw %v", o.Seen)
	}
}

func cleanUpCluster(t *testing.T, b *bench, namespace, crd string) {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := b.admin.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
		err := b.admin.Discovery().RESTClient().Delete().
			AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).Do(ctx).Error()
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

func TestConflictsAreNamedAndNothingIsWrittenAfter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	docs := deployment + "\n---\n" + strings.ReplaceAll(deployment, "api", "web")
	docs = strings.ReplaceAll(docs, "spps/v1", "apps/v1")
	docs = strings.ReplaceAll(docs, "webVersion", "apiVersion")
	b.deliver(t, docs)
	for _, name := range []string{"api", "web"} {
		_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), name, types.MergePatchType,
			[]byte(`{"spec":{"replicas":3}}`), as("scaler"))
		if err != nil {
			t.Fatal(err)
		}
	}
	r := b.request(t, docs+"\n---\n"+configMap)
	// The workloads come after the ConfigMap; another object that comes after
	// them shows that nothing is written once something was refused.
	r2 := b.request(t, docs+"\n---\n"+gate)
	for _, r := range []lifecycle.DeliverRequest{r, r2} {
		_, err := b.Deliver(t.Context(), r)
		var c *lifecycle.ConflictError
		if !errors.As(err, &c) || !errors.Is(err, lifecycle.ErrConflict) {
			t.Fatalf("got %v", err)
		}
		var got []string
		for _, c := range c.Conflicts {
			got = append(got, c.Object+" "+c.Field+" "+c.Owner)
		}
		want(t, "conflicts", got,
			"Deployment "+b.namespace+"/api .spec.replicas scaler",
			"Deployment "+b.namespace+"/web .spec.replicas scaler")
	}
	_, err := b.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), b.namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("written after a conflict: %v", err)
	}

	r.Force = true
	result, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "forced", lines(result.Changes), "configured Deployment "+b.namespace+"/api",
		"configured Deployment "+b.namespace+"/web", "unchanged ConfigMap "+b.namespace+"/settings")
}

const gate = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NS}`

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.wait(t, b.deliver(t, configMap+"\n---\n"+deployment))
	audit := devtest.RecordAudit(t, b.cluster)
	r := b.request(t, strings.ReplaceAll(configMap, "calm", "brisk")+"\n---\n"+deployment+"\n---\n"+strings.ReplaceAll(configMap, "settings", "more"))
	r.DryRun = true
	r.Guard = func(context.Context) error { t.Error("a dry run asked for leave to write"); return nil }
	result, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	in := b.namespace + "/"
	want(t, "dry run", lines(result.Changes), "configured ConfigMap "+in+"settings", "unchanged Deployment "+in+"api", "created ConfigMap "+in+"more")
	for _, e := range audit.Events(t, devtest.InNamespace(b.namespace)) {
		if e.UserAgent == "pharos" && e.Verb != "list" && !strings.Contains(e.RequestURI, "dryRun=All") {
			t.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
	cm, err := b.admin.CoreV1().ConfigMaps(b.namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || cm.Data["mode"] != "calm" {
		t.Errorf("%v %v", cm.Data, err)
	}
}

// The server quotes what it cannot read; the values of a Secret must not go into
// errors, which are logged and recorded.
func TestRefusedSecretsAreNotQuoted(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{
		"a list for a string": "stringData: {p: [hunter2-topsecret]}",
		"no base64":           "data: {p: hunter2-topsecret}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			_, err := b.Deliver(t.Context(), b.request(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"+secret))
			if !errors.Is(err, lifecycle.ErrSource) || errors.Is(err, lifecycle.ErrUnreachable) {
				t.Errorf("wrong class: %v", err)
			}
			if strings.Contains(err.Error(), "topsecret") {
				t.Errorf("a value is quoted: %v", err)
			}
			mustContain(t, err.Error(), "Secret "+b.namespace+"/login")
		})
	}
}

func TestRefusalsAreReportedTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(t, deployment)
	r := b.request(t, strings.ReplaceAll(deployment, "app: api", "app: other")+`
---
apiVersion: v1
kind: Service
metadata: {name: api}
spec: {ports: [{port: 99999}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: typo}
dada: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: lost, namespace: NS-missing}
---`+gate)
	_, err := b.Deliver(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrSource) || errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("wrong class: %v", err)
	}
	mustContain(t, err.Error(),
		"Deployment "+b.namespace+"/api", "immutable", "kubectl delete deployments.apps api --namespace "+b.namespace,
		"Service "+b.namespace+"/api", "99999",
		"ConfigMap "+b.namespace+"/typo", "dada", "Correct the manifest",
		"ConfigMap "+b.namespace+"-missing/lost", "Add the Namespace "+b.namespace+"-missing")
	if n := len(b.requests.Requests()); n > 25 {
		t.Errorf("%d requests: something final was tried again", n)
	}
}

func TestNamespaceThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	_, err := b.admin.CoreV1().ConfigMaps(b.namespace).Create(ctx, finalizedConfigMap(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := b.admin.CoreV1().ConfigMaps(b.namespace).Patch(context.WithoutCancel(ctx), "held", types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	if err := b.admin.CoreV1().Namespaces().Delete(ctx, b.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = b.Deliver(ctx, b.request(t, configMap))
	if !errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("wrong class: %v", err)
	}
	mustContain(t, err.Error(), "Namespace "+b.namespace+" is being deleted")
	_, err = b.Deliver(ctx, b.request(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS}"))
	mustContain(t, err.Error(), "Namespace "+b.namespace, "being deleted")
}

func TestGuardStops(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lost := errors.New("the lease is somebody else's now")
	r := b.request(t, configMap+"\n---\n"+deployment)
	calls := 0
	r.Guard = func(context.Context) error {
		// The ConfigMap is of an earlier stage: these calls do not overlap.
		if calls++; calls == 2 {
			return lost
		}
		return nil
	}
	result, err := b.Deliver(t.Context(), r)
	if err != lost {
		t.Errorf("got %v", err)
	}
	want(t, "changes", lines(result.Changes), "created ConfigMap "+b.namespace+"/settings")
	_, err = b.admin.AppsV1().Deployments(b.namespace).Get(t.Context(), "api", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment was written: %v", err)
	}
}

func TestDeliverChecksItsRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.request(t, configMap)
	for name, spoil := range map[string]func(*lifecycle.DeliverRequest){
		"no target":     func(r *lifecycle.DeliverRequest) { r.Target = "" },
		"no guard":      func(r *lifecycle.DeliverRequest) { r.Guard = nil },
		"other target":  func(r *lifecycle.DeliverRequest) { r.Target = "other" },
		"not resolved":  func(r *lifecycle.DeliverRequest) { r.Resolved = nil },
		"other objects": func(r *lifecycle.DeliverRequest) { r.Resolved = b.request(t, deployment).Resolved },
		"no JSON": func(r *lifecycle.DeliverRequest) {
			r.Objects = []lifecycle.Object{{Version: "v1", Kind: "ConfigMap", Name: "settings", JSON: []byte("{")}}
		},
	} {
		r := good
		spoil(&r)
		b.requests.Reset()
		if _, err := b.Deliver(t.Context(), r); err == nil {
			t.Errorf("%s: no error", name)
		}
		if sent := b.requests.Requests(); len(sent) > 0 && name != "other objects" {
			t.Errorf("%s: sent %v", name, sent)
		}
	}
}

// An unchanged delivery costs one write for each object and one list for each
// resource; a look costs one list for each resource.
func TestNumberOfRequests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	docs := deployment
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		docs += "\n---\n" + strings.ReplaceAll(configMap, "settings", n)
	}
	objects := b.deliver(t, docs)
	b.wait(t, objects)
	r := b.request(t, docs)
	b.requests.Reset()
	if _, err := b.Deliver(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, q := range b.requests.Requests() {
		count[q.Method]++
	}
	if count["PATCH"] != 6 || count["GET"] != 2 || len(count) != 2 {
		t.Errorf("an unchanged delivery sent %v", count)
	}
	b.requests.Reset()
	if o := b.observe(t, lifecycle.ObserveRequest{Objects: objects}); !o.Healthy() || len(o.Seen) != 6 {
		t.Errorf("saw %+v", o)
	}
	if sent := b.requests.Requests(); len(sent) != 2 {
		t.Errorf("a look sent %v", sent)
	}
}

func TestNeverDeletes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	audit := devtest.RecordAudit(t, b.cluster)
	first := b.deliver(t, configMap+"\n---\n"+strings.ReplaceAll(configMap, "settings", "former"))
	second := b.deliver(t, configMap)
	o := b.observe(t, lifecycle.ObserveRequest{Objects: second})
	want(t, "orphans", names(o.Orphans), "ConfigMap "+b.namespace+"/former")
	o = b.observe(t, lifecycle.ObserveRequest{Objects: b.request(t, deployment).Resolved, Earlier: first})
	want(t, "orphans of a resource that is no longer used", names(o.Orphans),
		"ConfigMap "+b.namespace+"/former", "ConfigMap "+b.namespace+"/settings")
	for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool { return e.UserAgent == "pharos" && e.Namespace == b.namespace }) {
		if e.Verb != "patch" && e.Verb != "list" {
			t.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
}
