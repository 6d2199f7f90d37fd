package argocd_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// documented are the rights that the documentation names.
func documented(t testing.TB) []rbacv1.PolicyRule {
	t.Helper()
	page, err := os.ReadFile("../../../docs/deliver-argocd.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Rights\n")
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil || len(role.Rules) != 3 {
		t.Fatalf("%v in %s", err, text)
	}
	return role.Rules
}

// withoutSettings leaves out the right to read Argo CD's settings.
func withoutSettings(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "configmaps") })
}

// A delivery with the documented rights and no others, of which each is used.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(manual)
	rights := documented(t)
	config, user := devtest.User(t, s.argo.Cluster(), s.argo.Namespace(), devtest.Rights{Namespaced: rights})
	s.config = config
	audit := devtest.RecordAudit(t, s.argo.Cluster())
	s.deliver(s.commit(s.appOfApps(manual, "api")))
	s.projectOf("{}")
	s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
	if _, err := s.examined(s.commit(s.appOfApps(manual, "api", "web"))); !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("what a project does not permit: %v", err)
	}
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
