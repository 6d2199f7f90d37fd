package apply_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

func finalizedConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"pharos.test/held"}}}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		patch        types.PatchType
		subresources []string
		data         string
		options      metav1.PatchOptions
		says         []string // nil: no drift
	}{
		{name: "another value by an edit", patch: types.MergePatchType, options: as("kubectl-edit"),
			data: `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":7}}}}`, says: []string{"kubectl-edit", "terminationGracePeriodSeconds"}},
		{name: "scaled", patch: types.MergePatchType, subresources: []string{"scale"}, options: as("scaler"),
			data: `{"spec":{"replicas":2}}`, says: []string{"scaler", ".spec.replicas"}},
		{name: "a field removed", patch: types.JSONPatchType, options: as("remover"),
			data: `[{"op":"remove","path":"/metadata/annotations/note"}]`, says: []string{"removed"}},
		{name: "an item of a list changed", patch: types.StrategicMergePatchType, options: as("editor"),
			data: `{"spec":{"template":{"spec":{"containers":[{"name":"api","image":"other"}]}}}}`, says: []string{"editor", "image"}},
		{name: "taken over", patch: types.ApplyPatchType, options: metav1.PatchOptions{FieldManager: "other", Force: new(true)},
			data: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":3}}`, says: []string{"other", ".spec.replicas"}},
		{name: "the same value written again", patch: types.MergePatchType, options: as("kubectl-edit"), data: `{"spec":{"replicas":1}}`},
		{name: "a field of somebody else", patch: types.MergePatchType, options: as("kubectl-edit"), data: `{"metadata":{"annotations":{"other":"x"}},"spec":{"minReadySeconds":1}}`},
		{name: "the status", patch: types.MergePatchType, subresources: []string{"status"}, options: as("controller"),
			data: `{"status":{"conditions":[{"type":"Odd","status":"True"}]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			objects := b.deliver(t, driftDeployment)
			seen := b.wait(t, objects).Seen
			if o := b.observe(t, lifecycle.ObserveRequest{Objects: objects, Seen: seen}); len(o.Drifted) > 0 {
				t.Fatalf("drifted before: %v", reasons(o.Drifted))
			}
			_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), "api", tt.patch, []byte(tt.data), tt.options, tt.subresources...)
			if err != nil {
				t.Fatal(err)
			}
			o := b.observe(t, lifecycle.ObserveRequest{Objects: objects, Seen: seen})
			switch {
			case tt.says == nil && len(o.Drifted) > 0:
				t.Errorf("drifted: %v", reasons(o.Drifted))
			case tt.says != nil && len(o.Drifted) != 1:
				t.Errorf("no drift: %+v", o)
			case tt.says != nil:
				mustContain(t, o.Drifted[0].Reason, tt.says...)
			}
		})
	}
}

// Whose fields are whose is not known any more once somebody clears the record of it.
// That is said, and what to do, which helps.
func TestClearedManagedFields(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, driftDeployment)
	seen := b.wait(t, objects).Seen
	if _, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), "api", types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`), as("cleaner")); err != nil {
		t.Fatal(err)
	}
	o := b.observe(t, lifecycle.ObserveRequest{Objects: objects, Seen: seen})
	if len(o.Drifted) != 1 {
		t.Fatalf("saw %+v", o)
	}
	mustContain(t, o.Drifted[0].Reason, "cannot be told", "metadata.managedFields", `"pharos"`, "--force-conflicts")

	objects = b.deliver(t, driftDeployment)
	seen = b.observe(t, lifecycle.ObserveRequest{Objects: objects}).Seen
	if o = b.observe(t, lifecycle.ObserveRequest{Objects: objects, Seen: seen}); len(o.Drifted) > 0 {
		t.Errorf("after the next delivery: %v", reasons(o.Drifted))
	}
	r := b.request(t, strings.Replace(driftDeployment, "replicas: 1", "replicas: 2", 1))
	_, err := b.Deliver(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrConflict) {
		t.Fatalf("another value: %v", err)
	}
	mustContain(t, err.Error(), `.spec.replicas is owned by "before-first-apply"`, "managedFields", "--force-conflicts")
	r.Force = true
	if _, err := b.Deliver(t.Context(), r); err != nil {
		t.Error(err)
	}
}

const driftDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, annotations: {note: hello}}
spec:
  replicas: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
      - name: api
        image: registry.invalid/api
        args: [serve, --fast]
        ports: [{containerPort: 80, name: http}]
        resources: {}`

func TestMissingRecreatedUnlabelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, configMap)
	seen := b.observe(t, lifecycle.ObserveRequest{Objects: objects}).Seen
	maps := b.admin.CoreV1().ConfigMaps(b.namespace)
	if err := maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o := b.observe(t, lifecycle.ObserveRequest{Objects: objects, Seen: seen})
	want(t, "deleted", reasons(o.Unready), "ConfigMap "+b.namespace+"/settings: it does not exist, or has lost its label "+keys.Target)
	if len(o.Seen) > 0 || o.Healthy() {
		t.Errorf("saw %+v", o)
	}
	b.deliver(t, configMap)
	o = b.observe(t, lifecycle.ObserveRequest{Objects: objects, Seen: seen})
	want(t, "created anew", reasons(o.Drifted), "ConfigMap "+b.namespace+"/settings: it was deleted and created anew")
	if _, err := maps.Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), as("x")); err != nil {
		t.Fatal(err)
	}
	if o = b.observe(t, lifecycle.ObserveRequest{Objects: objects}); o.Healthy() {
		t.Error("an object without its label was found")
	}
}

func TestOrphansLeaveOutWhatGoesByItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	objects := b.deliver(t, configMap)
	maps := b.admin.CoreV1().ConfigMaps(b.namespace)
	owner, err := maps.Get(ctx, "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{keys.Target: b.namespace}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}}}
	going := finalizedConfigMap()
	going.Labels = labels
	left := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "left", Labels: labels}}
	for _, cm := range []*corev1.ConfigMap{owned, going, left} {
		if _, err := maps.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.Delete(ctx, "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o := b.observe(t, lifecycle.ObserveRequest{Objects: objects})
	want(t, "orphans", names(o.Orphans), "ConfigMap "+b.namespace+"/left")
	if _, err := maps.Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), as("x")); err != nil {
		t.Fatal(err)
	}
}
