package standard

import (
	"encoding/json"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/parked"
	"github.com/pharos-dev/pharos/lifecycle"
)

// supervised are the namespaces in which a delivered workload asks to be restarted
// within a budget, sorted.
func supervised(r lifecycle.PrepareRequest) ([]string, error) {
	var namespaces []string
	for n, o := range r.Objects {
		if !parked.Workload(o.Group, o.Kind) || n >= len(r.Resolved) {
			continue
		}
		var m struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(o.JSON, &m); err != nil {
			return nil, fmt.Errorf("read the labels of %s %s: %w", o.Kind, o.Name, err)
		}
		if m.Metadata.Labels[keys.Supervise] == keys.SuperviseTrue {
			namespaces = append(namespaces, r.Resolved[n].Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), nil
}

// superviseRules are the rights that restart budgets take in a namespace. RBAC cannot
// tell pods apart: whose they are is checked before one is deleted.
func superviseRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"daemonsets", "deployments", "statefulsets"}, Verbs: []string{"get", "list", "patch"}},
		{APIGroups: []string{"apps"}, Resources: []string{"replicasets"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "delete"}},
	}
}
