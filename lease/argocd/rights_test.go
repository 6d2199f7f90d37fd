package argocd_test

import (
	"os"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// documented are the rights that the package comment names.
func documented(t testing.TB) []rbacv1.PolicyRule {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "\n// # Rights\n")
	_, text, _ = strings.Cut(text, "//\tapiVersion: ")
	text, _, _ = strings.Cut("//\tapiVersion: "+text, "\n//\n")
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "//\t", "")), &role); err != nil || len(role.Rules) != 2 {
		t.Fatalf("%v in %s", err, text)
	}
	return role.Rules
}

// A lease with the documented rights and no others, of which each is used.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	w := healed(t, stale, "api")
	rights := documented(t)
	config, user := devtest.User(t, w.argo.Cluster(), w.argo.Namespace(), devtest.Rights{Namespaced: rights})
	w.config = config
	audit := devtest.RecordAudit(t, w.argo.Cluster())
	c := w.claim(time.Hour, "api")
	if _, err := w.gate().Resolve(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.close(c)
	c.Until = c.Until.Add(time.Minute)
	if err := w.gate().Extend(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.edit("api", "edited")
	w.open(c)
	if _, err := w.gate().Sweep(t.Context(), w.sweep(c.Until)); err != nil {
		t.Fatal(err)
	}
	if got := w.value("api"); got != "declared" {
		t.Errorf("it is %q", got)
	}
	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code == 403 {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		used[e.Verb+" "+e.Resource] = true
	}
	for _, rule := range rights {
		for _, verb := range rule.Verbs {
			if key := verb + " " + rule.Resources[0]; !used[key] {
				t.Errorf("the right to %s is documented and not used", key)
			}
			delete(used, verb+" "+rule.Resources[0])
		}
	}
	for verb := range used {
		t.Errorf("did %s, which is not documented", verb)
	}
}
