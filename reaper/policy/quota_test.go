package policy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/reaper/policy"
)

// What a review counts is what the API server's own quota then counts, and what it says
// leaves no room is refused.
func TestReviewCountsQuotas(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	kube, ns := devtest.Client(t, cluster.Config()), devtest.Namespace(t, cluster)
	pod := func(name string, requests corev1.ResourceList) *corev1.Pod {
		container := corev1.Container{Name: "app", Image: "registry.invalid/app", Resources: corev1.ResourceRequirements{Requests: requests}}
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}, NodeSelector: map[string]string{"no": "such"}}}
	}
	of := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	both := pod("both", of("500m", "1Gi"))
	both.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "registry.invalid/app", Resources: corev1.ResourceRequirements{Limits: of("1500m", "64Mi")}}}
	ended := pod("ended", of("4", "4Gi"))
	for _, p := range []*corev1.Pod{both, pod("one", of("250m", "1Gi")), pod("silent", nil), ended} {
		if _, err := kube.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ended.Status.Phase = corev1.PodSucceeded
	if _, err := kube.CoreV1().Pods(ns).UpdateStatus(t.Context(), ended, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	limits := tier(24 * time.Hour)
	limits.MaxObjects, limits.CPU, limits.Memory = 1, 1500, 8<<30
	c := policy.Config{Tier: limits, Namespaces: []string{ns}, Resources: []string{"pods", "configmaps", "secrets"}}
	objects, err := policy.Objects(c)
	if err != nil {
		t.Fatal(err)
	}
	quota := objects[2].(*corev1.ResourceQuota)
	config, _ := devtest.User(t, cluster, ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods", "configmaps"}, Verbs: []string{"list"}}}})
	r, err := policy.Review(t.Context(), config, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Gaps) != 1 || r.Gaps[0].Resource != "secrets" {
		t.Errorf("the gaps are %+v", r.Gaps)
	}
	var lines []string
	for _, q := range r.Quotas {
		lines = append(lines, strings.ReplaceAll(fmt.Sprint(q, " refuses ", q.Refuses()), ns, "NS"))
	}
	const silent = "; 1 pods do not say what they request: silent refuses true"
	if got, want := strings.Join(lines, "\n"), strings.Join([]string{
		"count/configmaps in NS: 2 of 2 are used, and more is refused refuses false",
		"count/pods in NS: 4 of 1 are used, 3 too much refuses true",
		"requests.cpu in NS: 1750m of 1500m are used, 250m too much" + silent,
		"requests.memory in NS: 2Gi of 8Gi are used" + silent,
	}, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	if _, err := kube.CoreV1().ResourceQuotas(ns).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		quota, err = kube.CoreV1().ResourceQuotas(ns).Get(ctx, quota.Name, metav1.GetOptions{})
		return err == nil && len(quota.Status.Used) == len(quota.Spec.Hard), err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range r.Quotas {
		if used := quota.Status.Used[corev1.ResourceName(q.Limit)]; used.Cmp(q.Used) != 0 {
			t.Errorf("%s: %s, and the API server counts %s", q.Limit, q.Used.String(), used.String())
		}
	}
	if _, err := kube.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("one more: %v", err)
	}
	if _, err := kube.CoreV1().Pods(ns).Create(t.Context(), pod("quiet", nil), metav1.CreateOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "must specify requests.cpu") {
		t.Errorf("one that does not say: %v", err)
	}
}

// Who may not list pods is told so, and nothing is taken for used.
func TestReviewWithoutPods(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	ns := devtest.Namespace(t, cluster)
	limits := tier(time.Hour)
	limits.CPU = 1000
	config, _ := devtest.User(t, cluster, ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}})
	r, err := policy.Review(t.Context(), config, policy.Config{Tier: limits, Namespaces: []string{ns}, Resources: []string{"configmaps"}})
	if err != nil || len(r.Gaps) != 1 || r.Gaps[0].Resource != "pods" || len(r.Quotas) != 1 || r.Quotas[0].Limit != "count/configmaps" {
		t.Errorf("%+v, %v", r, err)
	}
}
