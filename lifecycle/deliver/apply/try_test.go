package apply_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/receipt"
)

// Writes of others are tried in each form, and nothing is written.
func TestTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: api, namespace: NS}\nspec: {ports: [{port: 80}]}"
	there := b.deliver(t, service)[0]
	missing := there
	missing.Name = "other"
	before, err := b.Get(t.Context(), there)
	if err != nil || before == nil {
		t.Fatalf("%s, %v", before, err)
	}
	if none, err := b.Get(t.Context(), missing); none != nil || err != nil {
		t.Errorf("what is not there is %s, %v", none, err)
	}
	for form, tt := range map[apply.Form]struct{ body, has string }{
		apply.FormApply:          {`{"apiVersion":"v1","kind":"Service","metadata":{"name":"api"},"spec":{"ports":[{"port":80,"protocol":"TCP","targetPort":81}]}}`, `"targetPort":81`},
		apply.FormMerge:          {`{"spec":{"ports":[{"port":81}]}}`, `"ports":[{"protocol":"TCP","port":81,"targetPort":81}]`},
		apply.FormStrategicMerge: {`{"spec":{"ports":[{"port":81,"name":"b"},{"port":80,"name":"a"}]}}`, `"name":"a"`},
	} {
		after, err := b.Try(t.Context(), apply.Trial{Object: there, Form: form, Body: []byte(tt.body), Manager: "others"})
		if err != nil || !strings.Contains(string(after), tt.has) {
			t.Errorf("%s: %s, %v", form, after, err)
		}
	}
	whole := []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"other"},"spec":{"ports":[{"port":80}],"unknown":1}}`)
	after, err := b.Try(t.Context(), apply.Trial{Object: missing, Form: apply.FormObject, Body: whole, Manager: "others"})
	if err != nil || !strings.Contains(string(after), `"targetPort":80`) {
		t.Errorf("created: %s, %v", after, err)
	}
	_, err = b.Try(t.Context(), apply.Trial{Object: there, Form: apply.FormObject, Body: []byte(strings.Replace(string(whole), "other", "api", 1)), Manager: "others"})
	if !errors.Is(err, apply.ErrExists) {
		t.Errorf("created where it is: %v", err)
	}
	_, err = b.Try(t.Context(), apply.Trial{Object: there, Form: apply.FormMerge, Body: []byte(`{"spec":{"ports":[{"port":99999}]}}`), Manager: "others"})
	if !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), "99999") {
		t.Errorf("refused: %v", err)
	}
	if now, err := b.Get(t.Context(), there); err != nil || string(now) != string(before) {
		t.Errorf("it was %s and is %s, %v", before, now, err)
	}
}

// Objects are found by their label, as many as may be listed.
func TestFind(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, configMap+"\n---\n"+deployment)
	missing := objects[0]
	missing.Name = "other"
	objects = append(objects, missing)
	found, errs := b.Find(t.Context(), b.namespace, objects)
	for i, want := range []string{objects[0].Name, objects[1].Name, ""} {
		var o struct {
			Kind     string            `json:"kind"`
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if errs[i] != nil || (want == "") != (found[i] == nil) || want != "" && json.Unmarshal(found[i], &o) != nil || o.Metadata.Name != want {
			t.Errorf("number %d is %s, %v", i, found[i], errs[i])
		}
	}
	config, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}})
	b.Deliverer = newDeliverer(t, apply.Config{RESTConfig: config, DefaultNamespace: b.namespace})
	found, errs = b.Find(t.Context(), b.namespace, objects)
	i := slices.IndexFunc(objects, func(o receipt.Object) bool { return o.Kind == "Deployment" })
	if found[1-i] == nil || errs[1-i] != nil || !errors.Is(errs[i], lifecycle.ErrForbidden) || !errors.Is(errs[i], lifecycle.ErrUnreachable) {
		t.Errorf("with the right to list ConfigMaps alone: %q, %v", found, errs)
	}
	_, err := b.Try(t.Context(), apply.Trial{Object: objects[i], Form: apply.FormMerge, Body: []byte(`{"spec":{"replicas":2}}`), Manager: "others"})
	if !errors.Is(err, lifecycle.ErrForbidden) {
		t.Errorf("tried without the right: %v", err)
	}
}
