package standard

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// takeoverRights are those to end a takeover whose holder is gone: to put back the
// Deployments, wherever the target delivers some, and to write and delete the session.
// Their names are not among the rules, since a commit that is delivered later may add
// one.
func takeoverRights(g grant, r lifecycle.PrepareRequest) []any {
	var namespaces []string
	for _, o := range r.Resolved {
		if o.Group == "apps" && o.Kind == "Deployment" {
			namespaces = append(namespaces, o.Namespace)
		}
	}
	if len(namespaces) == 0 {
		return nil // nothing can be taken over
	}
	slices.Sort(namespaces)
	session := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"patch", "delete"}, ResourceNames: []string{journal.ObjectName(r.Target)}}
	objects := g.in(r.Namespace, g.full()+":takeover-session", []rbacv1.PolicyRule{session})
	for _, ns := range slices.Compact(namespaces) {
		workloads := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}}
		objects = append(objects, g.in(ns, g.full()+":takeover", []rbacv1.PolicyRule{workloads})...)
	}
	return objects
}
