package kube_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// Servers forbid not only what a user has no rights for, and the advice is for
// what it was.
func TestForbiddenForOtherReasons(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	client := devtest.Client(t, c.Config()).CoreV1()
	for name, tc := range map[string]struct {
		forbid func(ns string) error
		advice string
	}{
		"quota": {func(ns string) error {
			_, err := client.ResourceQuotas(ns).Create(t.Context(), &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Name: "few"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}},
			}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			// A controller has to count first what there is.
			return wait.PollUntilContextCancel(t.Context(), 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
				_, err := client.ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "quota") {
					return !strings.Contains(err.Error(), "status unknown"), nil
				}
				return false, err
			})
		}, "kubectl get resourcequota"},
		"namespace that is being deleted": {func(ns string) error {
			// Something that has to be finalized keeps the namespace.
			kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: []string{"example.com/kept"}}}
			if _, err := client.ConfigMaps(ns).Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
				return err
			}
			t.Cleanup(func() {
				if _, err := client.ConfigMaps(ns).Patch(context.WithoutCancel(t.Context()), kept.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
					t.Error(err)
				}
			})
			return client.Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{})
		}, "is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := devtest.Namespace(t, c)
			if err := tc.forbid(ns); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, c.Config(), ns, "devbox").Put(t.Context(), record("devbox", 1))
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.advice) || strings.Contains(err.Error(), "What is needed") {
				t.Errorf("%v, want it forbidden, and the advice %q alone", err, tc.advice)
			}
		})
	}
}
