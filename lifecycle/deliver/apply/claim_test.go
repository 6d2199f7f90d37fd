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
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
)

// What is there already belongs to whoever made it, also where every field is
// the same and server-side apply itself would see no conflict.
func TestObjectsOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meta  metav1.ObjectMeta
		apply bool // made by kubectl apply --server-side
		owner string
	}{
		"created":            {owner: `"kubectl-create"`},
		"applied":            {apply: true, owner: `"kubectl-create"`},
		"by helm":            {meta: metav1.ObjectMeta{Annotations: map[string]string{"meta.helm.sh/release-name": "shop"}}, owner: `the Helm release "shop"`},
		"by Argo CD":         {meta: metav1.ObjectMeta{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "web:/ConfigMap:x/settings"}}, owner: `the Argo CD Application "web"`},
		"by a tool":          {meta: metav1.ObjectMeta{Labels: map[string]string{keys.ManagedBy: "Terraform"}}, owner: `"Terraform"`},
		"of another target":  {meta: metav1.ObjectMeta{Labels: map[string]string{keys.Target: "other"}}, owner: `the target "other"`},
		"with another value": {owner: `"kubectl-create"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			maps := b.admin.CoreV1().ConfigMaps(b.namespace)
			mode := "calm"
			if name == "with another value" {
				mode = "wild"
			}
			var err error
			if tt.apply {
				_, err = maps.Patch(t.Context(), "settings", types.ApplyPatchType,
					[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"mode":"calm"}}`), as("kubectl-create"))
			} else {
				tt.meta.Name = "settings"
				_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: tt.meta, Data: map[string]string{"mode": mode}},
					metav1.CreateOptions{FieldManager: "kubectl-create"})
			}
			if err != nil {
				t.Fatal(err)
			}
			before, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := b.request(t, configMap+"\n---\n"+deployment)
			for _, r.DryRun = range []bool{true, false} {
				result, err := b.Deliver(t.Context(), r)
				var c *lifecycle.ConflictError
				if !errors.As(err, &c) || len(c.Conflicts) != 1 || c.Conflicts[0] != (lifecycle.Conflict{Object: "ConfigMap " + b.namespace + "/settings", Owner: tt.owner}) {
					t.Fatalf("got %v %+v", err, c)
				}
				mustContain(t, err.Error(), "--adopt-objects")
				if strings.Contains(err.Error(), "--force-conflicts") {
					t.Errorf("advises what does not help: %v", err)
				}
				if got := lines(result.Changes); len(got) == 0 || got[0] != "conflict ConfigMap "+b.namespace+"/settings" {
					t.Errorf("changes %q", got)
				}
			}
			after, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
			if err != nil || after.ResourceVersion != before.ResourceVersion {
				t.Errorf("it was written: %+v %v", after, err)
			}

			r.Adopt, r.Force = true, name == "with another value" || name == "of another target"
			result, err := b.Deliver(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			want(t, "adopted", lines(result.Changes)[:1], "configured ConfigMap "+b.namespace+"/settings")
			r.Adopt, r.Force = false, false
			if result, err = b.Deliver(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			want(t, "from then on", lines(result.Changes)[:1], "unchanged ConfigMap "+b.namespace+"/settings")
		})
	}
}

// A manifest does not say itself which object it may be written to, nor switch off
// the condition under which it is.
func TestManifestsNameNoVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	maps := b.admin.CoreV1().ConfigMaps(b.namespace)
	made, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"mode": "calm"}},
		metav1.CreateOptions{FieldManager: "hand"})
	if err != nil {
		t.Fatal(err)
	}
	for field, values := range map[string][]string{"uid": {"", string(made.UID)}, "resourceVersion": {"", "0", made.ResourceVersion}} {
		for _, value := range values {
			docs := strings.Replace(configMap, "name: settings", "name: settings, "+field+`: "`+value+`"`, 1)
			objects := b.objects(t, docs)
			_, err := b.Resolve(t.Context(), objects)
			if !errors.Is(err, lifecycle.ErrSource) {
				t.Errorf("%s %q is resolved: %v", field, value, err)
				continue
			}
			mustContain(t, err.Error(), "ConfigMap settings: metadata."+field+" is for the server to set")
			r := b.request(t, configMap)
			r.Objects = objects
			if _, err := b.Deliver(t.Context(), r); err == nil {
				t.Errorf("%s %q is delivered", field, value)
			}
		}
	}
	now, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || now.ResourceVersion != made.ResourceVersion {
		t.Errorf("it was written: %+v %v", now, err)
	}
}

// To adopt an object does not take fields over that differ: that has to be asked
// for by its own name.
func TestAdoptionIsNoForce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.admin.CoreV1().ConfigMaps(b.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"mode": "wild"}}, metav1.CreateOptions{FieldManager: "hand"})
	if err != nil {
		t.Fatal(err)
	}
	r := b.request(t, configMap)
	r.Adopt = true
	_, err = b.Deliver(t.Context(), r)
	var c *lifecycle.ConflictError
	if !errors.As(err, &c) || len(c.Conflicts) != 1 || c.Conflicts[0].Field != ".data.mode" || c.Conflicts[0].Owner != "hand" {
		t.Errorf("got %v", err)
	}
	r.Adopt, r.Force = false, true
	if _, err = b.Deliver(t.Context(), r); !errors.As(err, &c) || c.Conflicts[0].Field != "" {
		t.Errorf("fields were forced in an object of somebody else: %v", err)
	}
}

// An object of ours that lost its label is still ours, and gets it again.
func TestLostLabelIsRestored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, configMap)
	_, err := b.admin.CoreV1().ConfigMaps(b.namespace).Patch(t.Context(), "settings", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+keys.Target+`":null}}}`), as("hand"))
	if err != nil {
		t.Fatal(err)
	}
	if o := b.observe(t, lifecycle.ObserveRequest{Objects: objects}); len(o.Unready) != 1 {
		t.Errorf("saw %+v", o)
	}
	result, err := b.Deliver(t.Context(), b.request(t, configMap))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "changes", lines(result.Changes), "configured ConfigMap "+b.namespace+"/settings")
	b.wait(t, objects)
}

// A namespace that Pharos has prepared may be among the manifests.
func TestPreparedNamespaceIsOurs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cleanUpCluster(t, b, b.namespace+"-new", "none.pharos.test")
	_, err := b.admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: b.namespace + "-new", Labels: map[string]string{keys.ManagedBy: keys.Manager}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.deliver(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-new}")
}

// What happens between the look and the write does not lead to an object of
// somebody else either.
func TestObjectReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(t, configMap)
	maps := b.admin.CoreV1().ConfigMaps(b.namespace)
	replace := func(labels map[string]string) {
		if err := maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if labels == nil {
			return
		}
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Labels: labels}},
			metav1.CreateOptions{FieldManager: "hand"})
		if err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name   string
		labels map[string]string
		says   string
	}{
		{"gone", nil, "created"},
		{"another of ours", map[string]string{keys.Target: b.namespace}, "configured"},
		{"another's", map[string]string{"x": "y"}, "conflict"},
	} {
		r, once := b.request(t, configMap), true
		r.Guard = onceGuard(&once, func() { replace(tt.labels) })
		result, err := b.Deliver(t.Context(), r)
		want(t, tt.name, lines(result.Changes), tt.says+" ConfigMap "+b.namespace+"/settings")
		if (err != nil) != (tt.says == "conflict") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// Fields that the manifests no longer have are given up: they go if nobody else
// owns them, and stay if somebody does.
func TestRemovedFieldsAreGivenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	both := configMap[:len(configMap)-1] + ", loud: \"no\", shared: \"yes\"}"
	b.deliver(t, both)
	maps := b.admin.CoreV1().ConfigMaps(b.namespace)
	_, err := maps.Patch(t.Context(), "settings", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"shared":"yes","theirs":"1"}}`), as("second"))
	if err != nil {
		t.Fatal(err)
	}
	b.deliver(t, configMap)
	cm, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, there := cm.Data["loud"]; there || cm.Data["shared"] != "yes" || cm.Data["theirs"] != "1" || cm.Data["mode"] != "calm" {
		t.Errorf("holds %v", cm.Data)
	}
	for _, m := range cm.ManagedFields {
		if m.Manager == keys.Manager && strings.Contains(string(m.FieldsV1.GetRawBytes()), "shared") {
			t.Errorf("a field is still ours: %s", m.FieldsV1.GetRawBytes())
		}
	}
	_, err = maps.Patch(t.Context(), "settings", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"shared":"now mine","theirs":"1"}}`), as("second"))
	if err != nil {
		t.Errorf("the second manager still conflicts: %v", err)
	}
	// Two targets do not take each other's objects either.
	other := newDeliverer(t, apply.Config{RESTConfig: b.cluster.Config(), DefaultNamespace: b.namespace, FieldManager: "pharos-other"})
	o := objects(t, "other", configMap)
	_, err = other.Deliver(t.Context(), lifecycle.DeliverRequest{Objects: o, Resolved: resolve(t, other, o), Target: "other", Guard: open})
	mustContain(t, err.Error(), "belongs to the target \""+b.namespace+"\"")
}
