package argocd_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// An operation that waits for what never becomes healthy does not keep the commit
// that mends it from being delivered, whoever of Argo CD and Pharos began it.
func TestOperationThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	argo := devtest.ArgoCD(t)
	for name, policy := range map[string]string{"automated": automated, "manual": manual} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, argo)
			s.operationWait = time.Nanosecond // it does not end by waiting
			s.root(policy)
			files := s.single("      nodeSelector: {there: is-none}\n")
			files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, later.yaml]\n"
			files["root/later.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: later, annotations: {argocd.argoproj.io/sync-wave: \"1\"}}\n"
			d := s.mustPoint(files)

			waiter, r := s.deliverer(), d.observe()
			r.Seen, r.Applications, r.Guard = d.result.Seen, d.result.Applications, d.request.Guard
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := waiter.Wait(ctx, r)
				ended <- err
			}()
			s.await(s.name, "status.operationState.message", "waiting for healthy state of apps/Deployment/api")
			cancel()
			if err := <-ended; err == nil {
				t.Fatal("what is not healthy is live")
			}
			if err := s.deliverer().Examine(t.Context(), d.request); err != nil {
				t.Errorf("it stands in the way of a delivery: %v", err)
			}
			s.deliver(s.commit(s.single("")))
			s.runs("api", ref("api", 1))
		})
	}
}

// An operation that waits for an object which was deleted does not take the whole
// time: it is ended, and the object is made again.
func TestOperationWaitsForWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	client := devtest.Client(t, s.config)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("0")}}}
	if _, err := client.CoreV1().ResourceQuotas(s.name).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, later.yaml]\n"
	files["root/later.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: later, annotations: {argocd.argoproj.io/sync-wave: \"1\"}}\n"
	d := s.mustPoint(files)
	ended := make(chan error, 1)
	go func() { ended <- s.wait(t.Context(), d, patience) }()
	s.await(s.name, "status.operationState.message", "waiting for healthy state of apps/Deployment/api")
	if err := client.AppsV1().Deployments(s.name).Delete(t.Context(), "api", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ResourceQuotas(s.name).Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, s.dump())
	}
	s.runs("api", ref("api", 1))
}

// Somebody took an operation away, as people do to get rid of one. It is said to run
// for ever, and keeps nothing from being delivered.
func TestOperationThatNobodyGoesOnWith(t *testing.T) {
	t.Parallel()
	argo := devtest.ArgoCD(t)
	for name, state := range map[string]string{
		"running": "phase: Running, message: one, operation: {initiatedBy: {username: ann}, sync: {revision: main}}",
		"parked":  "phase: Running, message: Sync operation blocked by sync window, operation: {initiatedBy: {automated: true}, sync: {revision: main}}",
		"ending":  "phase: Terminating, message: one, operation: {sync: {revision: main}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, argo)
			s.root(manual)
			s.deliver(s.commit(s.single("")))
			s.patch(s.name, "somebody", "status: {operationState: {startedAt: \"2026-11-30T00:00:00Z\", finishedAt: null, "+state+"}}")
			c := s.commit(s.single("      terminationGracePeriodSeconds: 3\n"))
			d, err := s.point(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.wait(t.Context(), d, patience); err != nil {
				t.Fatalf("%v\n%s", err, s.dump())
			}
			if name == "parked" {
				return // which ends a wait, as a window does
			}
			// In the middle of a wait, too.
			d = s.mustPoint(s.single("      terminationGracePeriodSeconds: 4\n"))
			s.patch(s.name, "somebody", "status: {operationState: {startedAt: \"2026-11-30T00:00:00Z\", finishedAt: null, "+state+"}}")
			if err := s.wait(t.Context(), d, patience); err != nil {
				t.Fatalf("%v\n%s", err, s.dump())
			}
		})
	}
}
