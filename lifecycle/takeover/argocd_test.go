package takeover_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// compare has Argo CD compare an Application, and waits until it finds it otherwise than
// declared.
func compare(t *testing.T, s *takeovertest.Shop, namespace, name string) {
	t.Helper()
	client, err := dynamic.NewForConfig(s.REST)
	if err != nil {
		t.Fatal(err)
	}
	apps := client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).Namespace(namespace)
	w, err := apps.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	patch := []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`)
	if _, err := apps.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		a, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("the watch ended with %+v", e)
		}
		if status, _, _ := unstructured.NestedString(a.Object, "status", "sync", "status"); status == "OutOfSync" {
			return
		}
	}
	t.Fatal("the watch ended")
}

// Argo CD leaves alone what is taken over, and the target is live at the exact commit
// when it is handed back.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	a := devtest.ArgoCD(t)
	s := takeovertest.NewArgoShop(t, a)
	before := s.Specs()
	s.Write(editAPI)
	plan, err := sessionOf(t, s.Config()).Try(t.Context())
	if err != nil || plan.Err() != nil || !slices.Equal(plan.Covers, []string{s.Application("api")}) || plan.Workloads[0].Returns != "Application "+a.Namespace()+"/"+s.Application("api") {
		t.Fatalf("the plan is %+v, %v, %v", plan, err, plan.Err())
	}
	r := begin(t, s.Config())
	r.until(takeover.EventServing, 1)
	diverted := s.Spec("api")
	compare(t, s, a.Namespace(), s.Application("api"))
	if s.Spec("api") != diverted {
		t.Error("Argo CD put it back while it is taken over")
	}
	if err := r.HandBack(t.Context()); err != nil {
		t.Errorf("hand back: %v", err)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	s.Whole(before)
}

// What is taken over by a laptop that is lost for good is put back by Argo CD when the
// lease has ended, and nobody has to do anything.
func TestArgoCDLostForGood(t *testing.T) {
	t.Parallel()
	s := takeovertest.NewArgoShop(t, devtest.ArgoCD(t))
	before := s.Specs()
	s.Write(editAPI)
	c, err := takeovertest.Config(t.Context(), s.Dir, s.Namespace, s.REST, lease.Timing{Duration: 50 * time.Second, RenewEvery: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	r := begin(t, c)
	r.until(takeover.EventServing, 1)
	w, err := s.Client().AppsV1().Deployments(s.Namespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=api"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	r.cancel()
	if err := <-r.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	for range w.ResultChan() {
		if s.Spec("api") == before["api"] {
			break
		}
	}
	// The checkout comes back: there is nothing left to put back.
	if err := sessionOf(t, s.Config()).Finish(t.Context()); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(before)
}

func sessionOf(t *testing.T, c takeover.Config) *takeover.Session {
	t.Helper()
	s, err := takeover.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
