package standard

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Rights prepares the ServiceAccount of deliveries that run in the cluster, in a
// pipeline for example, with the verbs that it uses and no others: it reads and
// writes its records and the lease in the target's namespace, and deletes receipts
// that are kept no longer; makes the Jobs of builds there, if BuildKit runs in some;
// creates, patches, lists and watches the kinds that the commit delivers where it
// delivers them, or only lists them if something else writes them, and lists pods
// and events there; and reads the namespaces kube-system and its own, and the nodes.
// Those of the controller come with it: see Controller.
//
// Rights that an earlier commit needed are taken away by the next deploy. Delivering
// roles and bindings needs rights beyond these: those that they grant.
type Rights struct {
	// Builds says that BuildKit runs in Jobs of the target's namespace.
	Builds bool
	// Observed says that something else writes the objects, Argo CD for example, so
	// that a delivery only lists them.
	Observed bool
}

var _ lifecycle.Preparer = Rights{}

// Prepare returns one step.
func (g Rights) Prepare(_ context.Context, r lifecycle.PrepareRequest) ([]lifecycle.PrepareStep, error) {
	objects := []any{account(r.Namespace, r.Account)}
	here := grant{account: r.Account, home: r.Namespace, target: r.Target}
	objects = append(objects, here.in(r.Namespace, keys.Manager+"-"+r.Target+"-records", []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "patch", "delete"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	})...)
	if g.Builds {
		objects = append(objects, here.in(r.Namespace, keys.Manager+"-"+r.Target+"-build", []rbacv1.PolicyRule{
			{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "watch", "create", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
		})...)
	}
	verbs := []string{"create", "patch", "list", "watch"}
	if g.Observed {
		verbs = []string{"list"}
	}
	everywhere, namespaced := deliveredKinds(r.Resolved, verbs)
	for _, ns := range slices.Sorted(maps.Keys(namespaced)) {
		rules := append(namespaced[ns], rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events", "pods"}, Verbs: []string{"list"}})
		if slices.ContainsFunc(r.Resolved, func(o receipt.Object) bool { return o.Group == "batch" && o.Kind == "Job" && o.Namespace == ns }) {
			// What the pod of a Job that failed said last.
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}})
		}
		objects = append(objects, here.in(ns, keys.Manager+"-"+r.Target+"-deliver", rules)...)
	}
	objects = append(objects, here.everywhere("", append([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}, ResourceNames: []string{metav1.NamespaceSystem, r.Namespace}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}},
	}, everywhere...))...)
	apply, err := objectsOf(objects...)
	if err != nil {
		return nil, err
	}
	return []lifecycle.PrepareStep{{Name: "rbac", Apply: apply}}, nil
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{keys.ManagedBy: keys.Manager}}
}

// deliveredKinds are the rules for what is delivered: to the cluster, and to each
// namespace.
func deliveredKinds(objects []receipt.Object, verbs []string) (everywhere []rbacv1.PolicyRule, namespaced map[string][]rbacv1.PolicyRule) {
	kinds := map[string]map[string][]string{} // by namespace and group
	for _, o := range objects {
		if kinds[o.Namespace] == nil {
			kinds[o.Namespace] = map[string][]string{}
		}
		kinds[o.Namespace][o.Group] = append(kinds[o.Namespace][o.Group], o.Resource)
	}
	namespaced = map[string][]rbacv1.PolicyRule{}
	for ns, groups := range kinds {
		var rules []rbacv1.PolicyRule
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			slices.Sort(groups[group])
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: slices.Compact(groups[group]), Verbs: verbs})
		}
		if ns == "" {
			everywhere = rules
		} else {
			namespaced[ns] = rules
		}
	}
	return everywhere, namespaced
}

func account(namespace, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta(namespace, name)}
}

// grant gives rights to an account.
type grant struct{ account, home, target string }

func (g grant) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: g.home, Name: g.account}}
}

// full names the target in full, for other namespaces and the cluster.
func (g grant) full() string { return keys.Manager + ":" + g.home + ":" + g.target }

// in are the objects that give rights in a namespace.
func (g grant) in(namespace, name string, rules []rbacv1.PolicyRule) []any {
	return []any{
		&rbacv1.Role{TypeMeta: rbacType("Role"), ObjectMeta: meta(namespace, name), Rules: rules},
		&rbacv1.RoleBinding{TypeMeta: rbacType("RoleBinding"), ObjectMeta: meta(namespace, name), Subjects: g.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}},
	}
}

// everywhere are the objects that give rights on the cluster. Their name holds the
// namespace, since another one may have a target of the same name.
func (g grant) everywhere(suffix string, rules []rbacv1.PolicyRule) []any {
	name := g.full() + suffix
	return []any{
		&rbacv1.ClusterRole{TypeMeta: rbacType("ClusterRole"), ObjectMeta: meta("", name), Rules: rules},
		&rbacv1.ClusterRoleBinding{TypeMeta: rbacType("ClusterRoleBinding"), ObjectMeta: meta("", name), Subjects: g.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}},
	}
}

func rbacType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}
