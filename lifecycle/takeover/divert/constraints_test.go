package divert_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// enforce has the namespace admit pods of a level of Pod Security.
func (b *bench) enforce(level string) {
	b.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":%q}}}`, level)
	if _, err := b.admin.CoreV1().Namespaces().Patch(b.Context(), b.namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		b.Fatal(err)
	}
}

// The agent runs with what the container is permitted, which stays as it is: also where
// that is as little as can be.
func TestRestricted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(original)
	const locked = `{"runAsNonRoot":true,"runAsUser":10001,"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}`
	b.change("kubectl-edit", `[{"op":"add","path":"/spec/template/spec/initContainers/0/securityContext","value":`+locked+`},
		{"op":"add","path":"/spec/template/spec/containers/0/securityContext","value":`+locked+`},{"op":"add","path":"/spec/template/spec/containers/1/securityContext","value":`+locked+`}]`)
	was := b.rolledOut()
	b.enforce("restricted")
	w := b.writer(b.cluster.Config(), nil)
	d := b.plan()
	b.until(func() bool { // the level counts some time after it was set
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "api-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "api", Image: original}}}}
		_, err := b.admin.CoreV1().Pods(b.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "violates PodSecurity")
	})
	if refusals, _ := b.examine(w, d); refusals != "[]" {
		t.Errorf("refused: %s", refusals)
	}
	if err := w.Divert(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	b.rolledOut()
	pods, err := b.admin.CoreV1().Pods(b.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=api"})
	if err != nil {
		t.Fatal(err)
	}
	agents := 0
	for _, p := range pods.Items {
		if c := p.Spec.Containers[1]; c.Image == agent && *c.SecurityContext.ReadOnlyRootFilesystem && *c.SecurityContext.RunAsUser == 10001 {
			agents++
		}
	}
	if agents < 2 {
		t.Errorf("%d agents run as restricted: %+v", agents, pods.Items)
	}
	b.restore(w, d)
	if now := b.live(); spec(t, now) != spec(t, was) {
		t.Errorf("it is\n%s\nand was\n%s", spec(t, now), spec(t, was))
	}
}

// What the namespace would not admit is refused with its words before anything is
// written.
func TestConstraints(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		constrain func(*bench) error
		want      string
	}{
		"a pod security level": {func(b *bench) error { b.enforce("restricted"); return nil }, `violates PodSecurity "restricted:latest"`},
		"a limit range": {func(b *bench) error {
			_, err := b.admin.CoreV1().LimitRanges(b.namespace).Create(b.Context(), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.LimitRangeSpec{
				Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")}}}}}, metav1.CreateOptions{})
			return err
		}, "maximum memory usage per Container is 16Mi"},
		"a quota of what is not said": {func(b *bench) error {
			_, err := b.admin.CoreV1().ResourceQuotas(b.namespace).Create(b.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "full"},
				Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("1")}}}, metav1.CreateOptions{})
			return err
		}, "failed quota: full: must specify requests.cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			was := b.deliver(original)
			d := b.plan()
			if err := tt.constrain(b); err != nil {
				t.Fatal(err)
			}
			w := b.writer(b.cluster.Config(), nil)
			b.until(func() bool {
				refusals, _ := b.examine(w, d)
				return strings.Contains(refusals, tt.want)
			})
			if now := b.live(); spec(t, now) != spec(t, was) {
				t.Error("it was changed")
			}
		})
	}
}

// A Deployment whose pods all go before others come is taken over as it is: what callers
// see of it is warned of.
func TestRecreate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(original)
	b.change("kubectl-edit", `[{"op":"replace","path":"/spec/strategy","value":{"type":"Recreate"}}]`)
	was := b.rolledOut()
	d, refusals, warnings, err := divert.Plan(was, declared(t, original), "api", agent)
	if err != nil || len(refusals) > 0 || !strings.Contains(join(warnings), "Recreate") {
		t.Fatal(refusals, warnings, err)
	}
	w := b.writer(b.cluster.Config(), nil)
	if err := w.Divert(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	b.rolledOut()
	b.restore(w, d)
	b.rolledOut()
	b.await(func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == 2 })
	if now := b.live(); spec(t, now) != spec(t, was) {
		t.Errorf("it is\n%s\nand was\n%s", spec(t, now), spec(t, was))
	}
}
