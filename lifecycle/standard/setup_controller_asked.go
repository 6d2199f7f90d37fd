package standard

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/lifecycle"
)

// asked is what a controller does beside watching the lease: flags, and the objects that
// give the rights for it.
type asked struct {
	args   []string
	rights []any
}

// asked puts together what the target and its workloads ask for.
func (c Controller) asked(r lifecycle.PrepareRequest) (asked, error) {
	var a asked
	g := grant{account: controllerOf(r.Target), home: r.Namespace, target: r.Target}
	c.takeover(&a, g, r)
	namespaces, err := supervised(r)
	if err != nil {
		return a, err
	}
	for _, ns := range namespaces {
		a.args = append(a.args, "--supervise="+ns)
		a.rights = append(a.rights, g.in(ns, g.full()+":supervise", superviseRules())...)
	}
	c.Asked.sweep(&a, g)
	c.Asked.inventory(&a, g, r)
	return a, nil
}

// namespacesResource has the sweep look into namespaces before they end.
const namespacesResource = "namespaces"

// sweep has the controller end what is past its end.
func (t TargetController) sweep(a *asked, g grant) {
	if len(t.Sweep) == 0 {
		return
	}
	a.args = append(a.args, "--sweep="+strings.Join(t.Sweep, ","))
	rules := append(sweepRules(t.Sweep), rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}})
	if t.SweepNamespace != "" {
		a.args = append(a.args, "--sweep-namespace="+t.SweepNamespace)
		a.rights = append(a.rights, g.in(t.SweepNamespace, g.full()+":sweep", rules)...)
		return
	}
	if slices.Contains(t.Sweep, namespacesResource) {
		a.args = append(a.args, "--unseen=secrets")
		rules = append(rules, namespaceRules()...)
	}
	a.rights = append(a.rights, g.everywhere(":sweep", rules)...)
}

// sweepRules are the rights to end objects of the resources, by group.
func sweepRules(resources []string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, name := range resources {
		r := schema.ParseGroupResource(name)
		verbs := []string{"get", "list", "watch", "delete"}
		if name == namespacesResource {
			verbs = append(verbs, "patch") // the mark
		}
		same := func(rule rbacv1.PolicyRule) bool {
			return rule.APIGroups[0] == r.Group && slices.Equal(rule.Verbs, verbs)
		}
		if n := slices.IndexFunc(rules, same); n >= 0 {
			rules[n].Resources = append(rules[n].Resources, r.Resource)
			continue
		}
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: verbs})
	}
	return rules
}

// namespaceRules are the rights to look at what Kubernetes itself has in a namespace, but
// for Secrets. What is of other groups keeps namespaces, until somebody gives the right
// to list it.
func namespaceRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Verbs: []string{"list"}, Resources: []string{"configmaps", "endpoints", "limitranges", "persistentvolumeclaims", "pods", "podtemplates",
			"replicationcontrollers", "resourcequotas", "serviceaccounts", "services"}},
		{APIGroups: []string{"apps", "autoscaling", "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "networking.k8s.io", "policy",
			"rbac.authorization.k8s.io", "resource.k8s.io", "storage.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"list"}},
	}
}
