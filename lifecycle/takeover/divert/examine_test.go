package divert_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

func (b *bench) examine(w *divert.Writer, d divert.Diversion) (refusals, warnings string) {
	b.Helper()
	r, n, err := w.Examine(b.Context(), d)
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Sprint(r), fmt.Sprint(n)
}

func TestExamine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(original)
	d := b.plan()
	w := b.writer(b.cluster.Config(), nil)
	if refusals, warnings := b.examine(w, d); refusals != "[]" || warnings != "[]" {
		t.Errorf("got %s, %s", refusals, warnings)
	}
	scale := func(name, of string) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: of}, MaxReplicas: 3,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(int32(80))}}}},
		}}
	}
	keda := scale("keda-hpa-orders", "api") // as KEDA makes it of a ScaledObject
	keda.Labels = map[string]string{"scaledobject.keda.sh/name": "orders"}
	for _, a := range []*autoscalingv2.HorizontalPodAutoscaler{scale("api", "api"), scale("web", "web"), keda} {
		if _, err := b.admin.AutoscalingV2().HorizontalPodAutoscalers(b.namespace).Create(t.Context(), a, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, labels := range map[string]map[string]string{"api": {"app": "api"}, "web": {"app": "web"}} {
		_, err := b.admin.PolicyV1().PodDisruptionBudgets(b.namespace).Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	refusals, warnings := b.examine(w, d)
	if refusals != "[]" || strings.Count(warnings, "HorizontalPodAutoscaler") != 1 || strings.Count(warnings, "ScaledObject "+b.namespace+"/orders scales") != 1 || strings.Count(warnings, "PodDisruptionBudget") != 1 || strings.Contains(warnings, "web") {
		t.Errorf("got %s, %s", refusals, warnings)
	}
	// A disruption budget does not hold up the rollout, and this is how it is known.
	if err := w.Divert(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	b.rolledOut()
}

// One pod more than the quota has room for is refused where the rollout needs it.
func TestQuota(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(original)
	d := b.plan()
	_, err := b.admin.CoreV1().ResourceQuotas(b.namespace).Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.awaitQuota("few")
	w := b.writer(b.cluster.Config(), nil)
	if refusals, warnings := b.examine(w, d); !strings.Contains(refusals, "needs room for one pod more") || !strings.Contains(refusals, "exceeded quota") || warnings != "[]" {
		t.Errorf("got %s, %s", refusals, warnings)
	}
	b.change("ann", `[{"op":"replace","path":"/spec/strategy/rollingUpdate/maxUnavailable","value":1}]`)
	if refusals, warnings := b.examine(w, b.plan()); refusals != "[]" || !strings.Contains(warnings, "an old one has to go first") {
		t.Errorf("got %s, %s", refusals, warnings)
	}
}

// awaitQuota waits until a quota counts.
func (b *bench) awaitQuota(name string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	counts := func(q *corev1.ResourceQuota) bool { return len(q.Status.Used) > 0 }
	if _, err := devtest.Await(ctx, b.admin.CoreV1().ResourceQuotas(b.namespace).Watch, name, counts); err != nil {
		b.Fatal(err)
	}
}

// What may not be looked at is a warning.
func TestExamineWithoutRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(original)
	d := b.plan()
	config, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	refusals, warnings := b.examine(b.writer(config, nil), d)
	if refusals != "[]" || strings.Count(warnings, "it is not known") != 3 {
		t.Errorf("got %s, %s", refusals, warnings)
	}
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: append(slices.Clone(documented),
		rbacv1.PolicyRule{APIGroups: []string{"autoscaling"}, Resources: []string{"horizontalpodautoscalers"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})})
	audit := devtest.RecordAudit(t, b.cluster)
	if refusals, warnings := b.examine(b.writer(config, nil), d); refusals != "[]" || warnings != "[]" {
		t.Errorf("got %s, %s", refusals, warnings)
	}
	var did []string
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		did = append(did, e.Verb+" "+e.Resource)
	}
	if got := strings.Join(did, ", "); got != "list horizontalpodautoscalers, list poddisruptionbudgets, create pods" {
		t.Errorf("it did %s", got)
	}
	pods, err := b.admin.CoreV1().Pods(b.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 2 {
		t.Errorf("there are %d pods, %v", len(pods.Items), err)
	}
}

// deny has admission refuse the agent's image on objects of a resource.
func (b *bench) deny(group, resource, path string) {
	b.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: b.namespace + "-" + resource},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": b.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}}}}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "object." + path + ".containers.all(c, !c.image.contains('pharos-agent'))", Message: "only what is reviewed"}},
		}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}}}
	api := b.admin.AdmissionregistrationV1()
	_, err := api.ValidatingAdmissionPolicies().Create(b.Context(), policy, metav1.CreateOptions{})
	if err == nil {
		_, err = api.ValidatingAdmissionPolicyBindings().Create(b.Context(), binding, metav1.CreateOptions{})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(api.ValidatingAdmissionPolicyBindings().Delete(ctx, policy.Name, metav1.DeleteOptions{}),
			api.ValidatingAdmissionPolicies().Delete(ctx, policy.Name, metav1.DeleteOptions{})); err != nil {
			b.Error(err)
		}
	})
}

// What admission refuses is known before anything is written.
func TestAdmission(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	was := b.deliver(original)
	d := b.plan()
	w := b.writer(b.cluster.Config(), nil)
	b.deny("", "pods", "spec")
	b.until(func() bool {
		refusals, _ := b.examine(w, d)
		return strings.Contains(refusals, "only what is reviewed")
	})
	b.deny("apps", "deployments", "spec.template.spec")
	b.until(func() bool { return errors.Is(w.DryRun(t.Context(), d), divert.ErrRejected) })
	err := w.Divert(t.Context(), d)
	if !errors.Is(err, divert.ErrRejected) || !strings.Contains(err.Error(), "only what is reviewed") {
		t.Errorf("got %v", err)
	}
	if now := b.live(); spec(t, now) != spec(t, was) {
		t.Error("it was changed")
	}
}

// until asks until it is so: policies count some time after they were made.
func (b *bench) until(so func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); !so(); {
		if time.Now().After(end) {
			b.Fatal("it did not become so")
		}
	}
}
