package kube_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/receipttest"
)

// rules are what the package comment documents.
var rules = []rbacv1.PolicyRule{{
	APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "patch", "delete"},
}}

// reading is what the package comment says is enough to read.
var reading = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}}}

// The suite runs with the documented rights and no others.
func TestStore(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	receipttest.TestStore(t, func(t *testing.T) receipt.Store {
		ns := devtest.Namespace(t, c)
		config, _ := devtest.User(t, c, ns, devtest.Rights{Namespaced: rules})
		return open(t, config, ns, receipttest.Target)
	})
}

// Each method makes as many calls as the package comment says.
func TestCalls(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config, counter := devtest.Count(c.Config())
	s := open(t, config, ns, "devbox")
	ctx := t.Context()
	var id, other receipt.ID
	var p receipt.Pointers
	for _, step := range []struct {
		name  string
		calls []string
		run   func() error
	}{
		{"Put", []string{"POST"}, func() (err error) { id, err = s.Put(ctx, record("devbox", 1)); return err }},
		{"Put again", []string{"POST", "GET"}, func() error { _, err := s.Put(ctx, record("devbox", 1)); return err }},
		{"Get", []string{"GET"}, func() error { _, err := s.Get(ctx, id); return err }},
		{"AddOutcome", []string{"GET", "POST"}, func() error { return s.AddOutcome(ctx, id, outcome(1)) }},
		{"Outcomes", []string{"GET"}, func() error { _, err := s.Outcomes(ctx, id); return err }},
		{"List", []string{"GET"}, func() error { _, err := s.List(ctx); return err }},
		{"Pointers", []string{"GET"}, func() (err error) { p, err = s.Pointers(ctx); return err }},
		{"SetPointers first", []string{"POST"}, func() (err error) { p, err = s.SetPointers(ctx, p, receipt.Pointers{Applied: id}); return err }},
		{"SetPointers", []string{"PATCH"}, func() (err error) {
			_, err = s.SetPointers(ctx, p, receipt.Pointers{Applied: id, Live: id})
			return err
		}},
		{"Put another", []string{"POST"}, func() (err error) { other, err = s.Put(ctx, record("devbox", 2)); return err }},
		{"AddOutcome to it", []string{"GET", "POST"}, func() error { return s.AddOutcome(ctx, other, outcome(1)) }},
		{"Delete", []string{"GET", "GET", "DELETE", "DELETE"}, func() error { return s.Delete(ctx, other) }},
		{"Delete again", []string{"GET", "GET"}, func() error { return s.Delete(ctx, other) }},
		{"Delete what is live", []string{"GET"}, func() error {
			if err := s.Delete(ctx, id); !errors.Is(err, receipt.ErrInUse) {
				return fmt.Errorf("%w, want ErrInUse", err)
			}
			return nil
		}},
	} {
		counter.Reset()
		if err := step.run(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		var calls []string
		for _, r := range counter.Requests() {
			calls = append(calls, r.Method)
		}
		if diff := cmp.Diff(step.calls, calls); diff != "" {
			t.Errorf("%s:\n%s", step.name, diff)
		}
	}
}

// Targets whose names begin alike share a namespace.
func TestSeveralTargets(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	ctx := t.Context()
	targets := []string{"a", "a-a", "a-a-a"}
	for _, target := range targets {
		s := open(t, c.Config(), ns, target)
		id, err := s.Put(ctx, record(target, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AddOutcome(ctx, id, outcome(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range targets {
		s := open(t, c.Config(), ns, target)
		id, err := record(target, 1).ID()
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.List(ctx)
		if err != nil || len(list) != 1 || list[0].ID != id {
			t.Errorf("target %s: %v, %v", target, list, err)
		}
		if o, err := s.Outcomes(ctx, id); err != nil || len(o) != 1 {
			t.Errorf("target %s: %v, %v", target, o, err)
		}
		if p, err := s.Pointers(ctx); err != nil || p.Applied != id {
			t.Errorf("target %s: %v, %v", target, p, err)
		}
	}
}

// Records and outcomes are immutable, outcomes go with their record, and what
// others add to the pointers stays.
func TestObjects(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	s := open(t, c.Config(), ns, "devbox")
	ctx := t.Context()
	id, err := s.Put(ctx, record("devbox", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddOutcome(ctx, id, outcome(1)); err != nil {
		t.Fatal(err)
	}
	p, err := s.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id})
	if err != nil {
		t.Fatal(err)
	}
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
	all, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "pharos.dev/receipts-of=devbox"})
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]*corev1.ConfigMap{}
	for i, m := range all.Items {
		parts[m.Labels["pharos.dev/receipt-part"]] = &all.Items[i]
		if m.Labels["pharos.dev/target"] != "" {
			t.Errorf("%s looks like something that was delivered", m.Name)
		}
	}
	if len(all.Items) != 3 || len(parts) != 3 {
		t.Fatalf("%d objects of parts %v", len(all.Items), parts)
	}
	for _, part := range []string{"record", "outcome"} {
		m := parts[part].DeepCopy()
		for key := range m.Data {
			m.Data[key] += " "
		}
		if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("an update of the %s: %v, want that it is immutable", part, err)
		}
	}
	owners := parts["outcome"].OwnerReferences
	if len(owners) != 1 || owners[0].UID != parts["record"].UID {
		t.Errorf("the outcome is owned by %v", owners)
	}

	m := parts["pointers"]
	m.Labels["team"] = "shop"
	if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetPointers(ctx, p, receipt.Pointers{Applied: id}); !errors.Is(err, receipt.ErrConflict) {
		t.Errorf("SetPointers after a change: %v, want ErrConflict", err)
	}
	if p, err = s.Pointers(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetPointers(ctx, p, receipt.Pointers{Applied: id, Live: id}); err != nil {
		t.Fatal(err)
	}
	if m, err = maps.Get(ctx, m.Name, metav1.GetOptions{}); err != nil || m.Labels["team"] != "shop" {
		t.Errorf("the pointers' labels are %v (%v)", m.Labels, err)
	}
	if diff := cmp.Diff(map[string]string{"applied": string(id), "live": string(id), "repository": ""}, m.Data); diff != "" {
		t.Error(diff)
	}
}
