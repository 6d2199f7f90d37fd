package reaper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// A ledger that is lost begins anew with what is there; one that cannot be read is not
// guessed at.
func TestLedgerLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, limits := client(t, b.config), tier("lost", 2)
	for i := range 2 {
		if _, err := c.Create(t.Context(), b.creation(fmt.Sprint("x", i), limits)); err != nil {
			t.Fatal(err)
		}
	}
	b.delete(t, "pharos-tier-lost")
	if _, err := c.Create(t.Context(), b.creation("x2", limits)); !errors.Is(err, reaper.ErrDenied) {
		t.Errorf("error %v", err)
	}
	// That was not worth a ledger.
	b.delete(t, "x0")
	if _, err := c.Create(t.Context(), b.creation("x2", limits)); err != nil {
		t.Error(err)
	}
	m := b.get(t, "pharos-tier-lost")
	m.Data["ledger.json"] = `{"entries":[{"id":7}]}`
	if _, err := b.kube.CoreV1().ConfigMaps(b.namespace).Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), b.creation("x3", limits)); !errors.Is(err, reaper.ErrLedger) || !strings.Contains(err.Error(), "kubectl delete configmap") {
		t.Errorf("error %v", err)
	}
}

// An object is the same one in each version that it is served in, also when that is not
// the one any more in which it was created.
func TestCreateVersions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, limits := client(t, b.config), tier("versions", 2)
	scaler := func(version string) reaper.Creation {
		n := b.creation("", limits)
		n.Ref = reaper.Ref{Group: "autoscaling", Version: version, Resource: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespace: b.namespace}
		n.Object = map[string]any{
			"metadata": map[string]any{"name": version},
			"spec":     map[string]any{"maxReplicas": 1, "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}},
		}
		return n
	}
	for _, version := range []string{"v1", "v2"} {
		if _, err := c.Create(t.Context(), scaler(version)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []reaper.Creation{scaler("v1"), scaler("v2"), b.creation("settings", limits)} {
		var denied *reaper.DeniedError
		if _, err := c.Create(t.Context(), n); !errors.As(err, &denied) || denied.Denials[0].Used != 2 {
			t.Errorf("beside two: %v", err)
		}
	}
	m := b.get(t, "pharos-tier-versions")
	m.Data["ledger.json"] = strings.NewReplacer(`"v1"`, `"v2beta1"`, `"v2"`, `"v2beta2"`).Replace(m.Data["ledger.json"]) // they were served once
	if _, err := b.kube.CoreV1().ConfigMaps(b.namespace).Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), b.creation("settings", limits)); !errors.Is(err, reaper.ErrDenied) {
		t.Errorf("beside two: %v", err)
	}
	if err := b.kube.AutoscalingV2().HorizontalPodAutoscalers(b.namespace).Delete(t.Context(), "v1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), b.creation("settings", limits)); err != nil {
		t.Errorf("beside one: %v", err)
	}
}

// What else the tier has is listed where it is; without the right to it, it counts.
func TestCreateListsTheTier(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	limits := tier("mixed", 1)
	if _, err := client(t, b.config).Create(t.Context(), b.creation("settings", limits)); err != nil {
		t.Fatal(err)
	}
	b.delete(t, "settings")
	maps := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update"}}
	accounts := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"create", "list"}}
	namespace := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}
	n := b.creation("me", limits)
	n.Ref.Resource, n.Ref.Kind = "serviceaccounts", "ServiceAccount"
	blind, _ := devtest.User(t, devtest.Cluster(t), b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{maps, accounts, namespace}})
	if _, err := client(t, blind).Create(t.Context(), n); !errors.Is(err, reaper.ErrDenied) || !strings.Contains(err.Error(), "to list whatever else the tier has") {
		t.Errorf("error %v", err)
	}
	maps.Verbs = append(maps.Verbs, "list")
	seeing, _ := devtest.User(t, devtest.Cluster(t), b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{maps, accounts, namespace}})
	if _, err := client(t, seeing).Create(t.Context(), n); err != nil {
		t.Error(err)
	}
}

// What would go with its namespace is not created, and takes no room.
func TestCreateInNamespaceThatEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, namespaces := client(t, b.config), b.kube.CoreV1().Namespaces()
	into := devtest.Namespace(t, devtest.Cluster(t))
	n := b.creation("settings", tier("ending", 1))
	n.Ref.Namespace = into
	mark := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, keys.Ending, value)
		if _, err := namespaces.Patch(t.Context(), into, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mark(`"2026-03-04T05:06:07Z"`)
	_, err := c.Create(t.Context(), n)
	if !errors.Is(err, reaper.ErrNamespaceEnds) || !strings.Contains(err.Error(), "2026-03-04T05:06:07Z") || !strings.Contains(err.Error(), "kubectl pharos extend namespace/"+into) {
		t.Errorf("error %v", err)
	}
	if l := b.ledger(t, "ending"); len(l.Entries) != 0 || len(l.Creates) != 0 {
		t.Errorf("the ledger is %+v", l)
	}
	mark("null")
	o, err := c.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}

	// One that is being deleted stays as long as something holds what is in it.
	maps := b.kube.CoreV1().ConfigMaps(into)
	hold := func(finalizers string) error {
		_, err := maps.Patch(context.WithoutCancel(t.Context()), o.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
		return err
	}
	if err := hold(`["pharos.test/held"]`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hold("null"); err != nil {
			t.Error(err)
		}
	})
	if err := namespaces.Delete(t.Context(), into, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	n.Tier = tier("deleted", 1)
	if _, err := c.Create(t.Context(), n); !errors.Is(err, reaper.ErrNamespaceEnds) || !strings.Contains(err.Error(), "is being deleted") {
		t.Errorf("error %v", err)
	}
}

// It takes the rights that its documentation names.
func TestCreateRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, _ := devtest.User(t, devtest.Cluster(t), b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"create", "list"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
	}})
	n := b.creation("me", tier("rights", 1))
	n.Ref.Resource, n.Ref.Kind = "serviceaccounts", "ServiceAccount"
	c := client(t, config)
	if _, err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	n.Object = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{GenerateName: "other-"}}
	if _, err := c.Create(t.Context(), n); !errors.Is(err, reaper.ErrDenied) {
		t.Errorf("error %v", err)
	}
	n.Ref.Resource, n.Ref.Kind = "secrets", "Secret"
	n.Tier.Name = "other"
	_, err := c.Create(t.Context(), n)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "create and list secrets") {
		t.Errorf("error %v", err)
	}
}
