package standard

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// takeover has the controller end takeovers whose holder is gone, wherever the target
// delivers Deployments: it puts them back, and deletes the session. Where Argo CD does
// that it looks, and deletes the session afterwards. The names of the Deployments are not
// among the rules, since a commit that is delivered later may add one.
func (c Controller) takeover(a *asked, g grant, r lifecycle.PrepareRequest) {
	var namespaces []string
	for _, o := range r.Resolved {
		if o.Group == "apps" && o.Kind == "Deployment" {
			namespaces = append(namespaces, o.Namespace)
		}
	}
	if len(namespaces) == 0 {
		return // nothing can be taken over
	}
	slices.Sort(namespaces)
	session := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"patch", "delete"}, ResourceNames: []string{journal.ObjectName(r.Target)}}
	workloads := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}}
	if c.ArgoCD != nil {
		session.Verbs, workloads.Verbs = []string{"delete"}, []string{"get"}
	}
	a.rights = append(a.rights, g.in(r.Namespace, g.full()+":takeover-session", []rbacv1.PolicyRule{session})...)
	for _, ns := range slices.Compact(namespaces) {
		if c.ArgoCD == nil {
			a.args = append(a.args, "--put-back="+ns)
		}
		a.rights = append(a.rights, g.in(ns, g.full()+":takeover", []rbacv1.PolicyRule{workloads})...)
	}
}
