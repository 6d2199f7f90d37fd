package argocd_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// rights are those that the package comment names.
var rights = []rbacv1.PolicyRule{
	{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"get", "watch", "patch"}},
	{APIGroups: []string{"argoproj.io"}, Resources: []string{"appprojects"}, Verbs: []string{"get"}},
}

// A delivery with the documented rights and no others, of which each is used.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root("{}")
	config, user := devtest.User(t, s.argo.Cluster(), s.argo.Namespace(), devtest.Rights{Namespaced: rights})
	s.config = config
	audit := devtest.RecordAudit(t, s.argo.Cluster())
	s.deliver(s.commit(s.appOfApps("{}", "api")))
	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		// What the objects say is left out where it may not be read.
		if e.Code == 403 && e.Resource != "deployments" {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		used[e.Verb+" "+e.Resource] = true
	}
	for _, rule := range rights {
		for _, verb := range rule.Verbs {
			if !used[verb+" "+rule.Resources[0]] {
				t.Errorf("the right to %s %s is documented and not used", verb, rule.Resources[0])
			}
		}
	}
	for verb := range used {
		if slices.Contains([]string{"create applications", "update applications", "delete applications", "list applications", "patch appprojects"}, verb) {
			t.Errorf("did %s", verb)
		}
	}
}
