package standard

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// rights are those of the controller's account: in the target's namespace to elect
// a leader, to read the target's lease and the session of its takeover, and to record
// Events on it, and in Argo CD's to open what leases left closed.
//
// Who may patch an AppProject may change all of it, its roles and what it may
// deliver where, too: RBAC knows no fields. That is why nobody has this right but
// the controller, which a target can be without.
func (c Controller) rights(r lifecycle.PrepareRequest) []any {
	name := controllerOf(r.Target)
	g := grant{account: name, home: r.Namespace, target: r.Target}
	rule := func(group, resource string, verbs []string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs, ResourceNames: names}
	}
	objects := g.in(r.Namespace, name, []rbacv1.PolicyRule{
		rule("coordination.k8s.io", "leases", []string{"create"}),
		rule("coordination.k8s.io", "leases", []string{"get", "update"}, LeaderLease(r.Target)),
		rule("coordination.k8s.io", "leases", []string{"get"}, keys.Manager+"-"+r.Target),
		rule("", "secrets", []string{"get"}, journal.ObjectName(r.Target)),
		rule("events.k8s.io", "events", []string{"create"}),
	})
	if c.ArgoCD == nil {
		return objects
	}
	// The windows name Applications of an earlier commit, too, and those that a
	// root declares are not known here: so no names. The role is named as the
	// account in full, since another namespace may have a target of the same name.
	return append(objects, g.in(c.ArgoCD.Namespace, keys.Manager+":"+r.Namespace+":"+r.Target+":controller", []rbacv1.PolicyRule{
		rule("argoproj.io", "appprojects", []string{"get", "list", "patch"}),
		rule("argoproj.io", "applications", []string{"get", "watch", "patch"}),
	})...)
}
