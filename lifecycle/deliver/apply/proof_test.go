package apply_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle"
)

// provenDocs have what makes an object as held differ from its manifest: other
// spellings of quantities, keys with defaults, lists that are sets.
const provenDocs = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, finalizers: [example.test/kept], annotations: {note: x}}
spec:
  replicas: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      volumes: [{name: tmp, emptyDir: {}}]
      containers:
      - name: api
        image: registry.invalid/api
        ports: [{containerPort: 80}]
        resources: {requests: {cpu: 1000m, memory: 0.5Gi}}
---
apiVersion: v1
kind: Service
metadata: {name: api}
spec: {selector: {app: api}, ports: [{port: 80, targetPort: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: calm}`

// What the delivery before left is not written again, and whatever happened to
// it since is noticed.
func TestWhatIsKnownIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		docs   func(string) string
		meddle string // a patch of the Deployment by somebody else
		as     metav1.PatchOptions
		kind   types.PatchType
		writes int
		says   string // of the Deployment
	}{
		{name: "nothing happened", says: "unchanged"},
		{name: "another field by somebody else", kind: types.MergePatchType, as: as("hand"), meddle: `{"metadata":{"annotations":{"other":"x"}},"spec":{"revisionHistoryLimit":5}}`, says: "unchanged"},
		{name: "the same value by somebody else", kind: types.MergePatchType, as: as("hand"), meddle: `{"spec":{"replicas":1}}`, says: "unchanged"},
		{name: "the manifest changed", docs: func(s string) string { return strings.Replace(s, "note: x", "note: other", 1) }, writes: 1, says: "configured"},
		{name: "a field left the manifest", docs: func(s string) string { return strings.Replace(s, ", annotations: {note: x}", "", 1) }, writes: 1, says: "configured"},
		{name: "a field was removed", kind: types.MergePatchType, as: as("hand"), meddle: `{"metadata":{"annotations":{"note":null}}}`, writes: 1, says: "configured"},
		{name: "a field was changed", kind: types.MergePatchType, as: as("hand"), meddle: `{"metadata":{"annotations":{"note":"z"}}}`, writes: 1, says: "conflict"},
		{name: "a field was taken over", kind: types.ApplyPatchType, as: metav1.PatchOptions{FieldManager: "other", Force: new(true)},
			meddle: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","annotations":{"note":"z"}}}`, writes: 1, says: "conflict"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			t.Cleanup(func() { unfinalize(t, b) })
			first := b.deliver(t, provenDocs)
			seen := b.wait(t, first).Seen
			if tt.meddle != "" {
				if _, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), "api", tt.kind, []byte(tt.meddle), tt.as); err != nil {
					t.Fatal(err)
				}
			}
			docs := provenDocs
			if tt.docs != nil {
				docs = tt.docs(docs)
			}
			r := b.request(t, docs)
			r.Applied, r.Seen = first, seen
			guarded := 0
			r.Guard = counted(&guarded)
			b.requests.Reset()
			result, err := b.Deliver(t.Context(), r)
			if (err != nil) != (tt.says == "conflict") {
				t.Error(err)
			}
			in := b.namespace + "/"
			want(t, "changes", lines(result.Changes), tt.says+" Deployment "+in+"api", "unchanged Service "+in+"api", "unchanged ConfigMap "+in+"settings")
			writes := 0
			for _, q := range b.requests.Requests() {
				if q.Method == http.MethodPatch {
					writes++
				}
			}
			if n := len(b.requests.Requests()) - writes; writes != tt.writes || guarded != tt.writes || n != 3 {
				t.Errorf("%d writes, %d with leave, %d reads", writes, guarded, n)
			}
			if err == nil && len(result.Seen) != 3 {
				t.Errorf("saw %+v", result.Seen)
			}
			if tt.docs == nil && tt.says == "unchanged" {
				// A real apply agrees, once the controller has nothing to add.
				b.wait(t, first)
				r.Applied, r.Seen = nil, nil
				if real, err := b.Deliver(t.Context(), r); err != nil || lines(real.Changes)[0] != lines(result.Changes)[0] {
					t.Errorf("an apply comes to %q, %v", lines(real.Changes), err)
				}
			}
		})
	}
}

func unfinalize(t *testing.T, b *bench) {
	t.Helper()
	_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), "api", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(t, configMap+"\n---\n"+strings.ReplaceAll(configMap, "settings", "same")+"\n---\n"+deployment)
	_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), "api", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), as("scaler"))
	if err != nil {
		t.Fatal(err)
	}
	r := b.request(t, strings.ReplaceAll(configMap, "calm", "brisk")+"\n---\n"+strings.ReplaceAll(configMap, "settings", "same")+
		"\n---\n"+strings.ReplaceAll(configMap, "settings", "new")+"\n---\n"+deployment+"\n---\n"+
		strings.ReplaceAll(configMap, "settings", "lost, namespace: NS-new")+"\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: NS-new}"+
		"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\nwrong: 1")
	audit := writesBy(t, b)
	list, err := b.Compare(t.Context(), r)
	var c *lifecycle.ConflictError
	if !errors.As(err, &c) || len(c.Conflicts) != 1 || !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got %v", err)
	}
	mustContain(t, err.Error(), "ConfigMap "+b.namespace+"/bad")
	audit()
	in := b.namespace + "/"
	var got []string
	for _, l := range list {
		got = append(got, lines([]lifecycle.Change{l.Change})[0])
	}
	want(t, "comparisons", got, "configured ConfigMap "+in+"settings", "unchanged ConfigMap "+in+"same", "created ConfigMap "+in+"new",
		"conflict Deployment "+in+"api", "created ConfigMap "+b.namespace+"-new/lost", "created Namespace "+b.namespace+"-new")
	value := func(doc []byte, path ...string) any {
		if doc == nil {
			return nil
		}
		var o map[string]any
		if err := json.Unmarshal(doc, &o); err != nil {
			t.Fatal(err)
		}
		v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
		return v
	}
	for i, tt := range []struct{ live, merged any }{{"calm", "brisk"}, {"calm", "calm"}, {nil, "calm"}, {nil, nil}, {nil, "calm"}, {nil, nil}} {
		if l, m := value(list[i].Live, "data", "mode"), value(list[i].Merged, "data", "mode"); l != tt.live || m != tt.merged {
			t.Errorf("%s: %v, %v", got[i], l, m)
		}
	}
	if l, m := value(list[3].Live, "spec", "replicas"), value(list[3].Merged, "spec", "replicas"); l != 3.0 || m != 1.0 {
		t.Errorf("the conflict is compared as %v, %v", l, m)
	}
	for _, invented := range []string{"uid", "resourceVersion"} {
		if v := value(list[2].Merged, "metadata", invented); v != nil {
			t.Errorf("%s %v of an object that is not there", invented, v)
		}
	}
	if list[2].Live != nil || bytes.Contains(list[1].Live, []byte("9223372036854775807")) {
		t.Errorf("%s %s", list[2].Live, list[1].Live)
	}
}
