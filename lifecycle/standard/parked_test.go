package standard_test

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// Only what was delivered is looked at, by lists of metadata, and who may not list is
// told so.
func TestParkedWorkloads(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns, none := devtest.Namespace(t, c), int32(0)
	labels := map[string]string{"app": "api"}
	for _, name := range []string{"api", "by-hand"} {
		_, err := devtest.Client(t, c.Config()).AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{keys.Parked: "ada looks at it"}},
			Spec: appsv1.DeploymentSpec{Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.invalid/api"}}}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	objects := []receipt.Object{
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: ns, Name: "api"},
		{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: ns, Name: "gone"},
		{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: ns, Name: "settings"},
	}
	config, counter := devtest.Count(c.Config())
	parked, err := standard.ParkedWorkloads(t.Context(), standard.Options{REST: config}, objects)
	if err != nil || len(parked) != 1 || parked[0].Object.Name != "api" || parked[0].String() != "it is parked by hand: ada looks at it" || !strings.HasPrefix(parked[0].Unpark, "kubectl annotate deployments.apps/api --namespace "+ns) {
		t.Errorf("got %+v, %v", parked, err)
	}
	if n := len(counter.Requests()); n != 1 {
		t.Errorf("%d requests: %v", n, counter.Requests())
	}
	few, _ := devtest.User(t, c, ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}}}})
	if _, err := standard.ParkedWorkloads(t.Context(), standard.Options{REST: few}, objects); !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "deployments in namespace "+ns) {
		t.Errorf("without the right to list: %v", err)
	}
}
