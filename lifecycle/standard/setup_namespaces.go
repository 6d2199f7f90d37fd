package standard

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Namespaces prepares the namespaces that objects are delivered to, and the one of
// Pharos's own objects. Those that are missing are created, with the label
// app.kubernetes.io/managed-by and with an annotation that keeps Argo CD from
// pruning them; others are left alone. Nothing ever deletes them.
type Namespaces struct{}

var _ lifecycle.Preparer = Namespaces{}

// Prepare returns one step.
func (Namespaces) Prepare(_ context.Context, r lifecycle.PrepareRequest) ([]lifecycle.PrepareStep, error) {
	names := []string{r.Namespace}
	declared := map[string]bool{}
	for _, o := range r.Resolved {
		if o.Namespace != "" {
			names = append(names, o.Namespace)
		}
		if o.Group == "" && o.Kind == "Namespace" {
			declared[o.Name] = true
		}
	}
	slices.Sort(names)
	var objects []any
	for _, name := range slices.Compact(names) {
		if name == metav1.NamespaceDefault || strings.HasPrefix(name, "kube-") {
			continue // every cluster has them
		}
		ns := namespace(name)
		if declared[name] {
			ns.Labels[keys.Target] = r.Target // the delivery takes it over
		}
		objects = append(objects, ns)
	}
	create, err := objectsOf(objects...)
	if err != nil || len(create) == 0 {
		return nil, err
	}
	return []lifecycle.PrepareStep{{Name: "namespaces", Create: create}}, nil
}

// namespace is one that Pharos creates, and that nothing prunes.
func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{keys.ManagedBy: keys.Manager},
			Annotations: map[string]string{"argocd.argoproj.io/sync-options": "Prune=false,Delete=false"}},
	}
}
