package standard

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

// inventory has the controller keep counts of what is in the target's namespaces.
func (t TargetController) inventory(a *asked, g grant, r lifecycle.PrepareRequest) {
	if !t.Inventory {
		return
	}
	a.args = append(a.args, "--record-inventory="+recordEvery)
	d := &inventory.Declaration{}
	for _, o := range r.Resolved {
		d.Objects = append(d.Objects, inventory.DeclaredObject{Ref: refOf(o)})
	}
	for _, ns := range namespacesOf(Target{Namespace: r.Namespace}, d) {
		rules := inventoryRules()
		if ns == r.Namespace {
			rules = append(rules, samplesRules(r.Target)...)
		}
		a.rights = append(a.rights, g.in(ns, g.full()+":inventory", rules)...)
	}
	a.rights = append(a.rights, g.everywhere(":inventory", []rbacv1.PolicyRule{list("", namespacesResource)})...)
}

// recordEvery is how often: the samples then reach back for two days.
const recordEvery = "15m"

// samplesRules are the rights to read what is applied, and to keep samples.
func samplesRules(target string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"update"}, ResourceNames: []string{keys.Manager + "-" + target + ".inventory"}},
	}
}

// inventoryRules are the rights to count what Kubernetes itself has in a namespace.
func inventoryRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		list("", "configmaps", "limitranges", "persistentvolumeclaims", "pods", "podtemplates", "replicationcontrollers", "resourcequotas", "serviceaccounts", "services"),
		list("apps", "controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"),
		list("autoscaling", "horizontalpodautoscalers"),
		list("batch", "cronjobs", "jobs"),
		list("certificates.k8s.io", "podcertificaterequests"),
		list("coordination.k8s.io", "leases"),
		list("discovery.k8s.io", "endpointslices"),
		list("networking.k8s.io", "ingresses", "networkpolicies"),
		list("policy", "poddisruptionbudgets"),
		list("rbac.authorization.k8s.io", "rolebindings", "roles"),
		list("resource.k8s.io", "resourceclaims", "resourceclaimtemplates"),
		list("snapshot.storage.k8s.io", "volumesnapshots"),
		list("storage.k8s.io", "csistoragecapacities"),
	}
}

func list(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: slices.Clone(resources), Verbs: []string{"list"}}
}
