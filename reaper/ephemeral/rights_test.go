package ephemeral_test

import (
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// documented are the rules that the package's comment says are needed.
func documented(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "# Rights")
	var lines []string
	for line := range strings.Lines(after) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			lines = append(lines, code)
		} else if len(lines) > 0 {
			break
		}
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(strings.Join(lines, "")), &role); err != nil || len(role.Rules) != 2 {
		t.Fatalf("%d rules, %v", len(role.Rules), err)
	}
	return role.Rules
}

// What is documented is enough, and all of it is used.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	rights := documented(t)
	config, user := devtest.User(t, c, devtest.Namespace(t, c), devtest.Rights{ClusterWide: rights})
	audit := devtest.RecordAudit(t, c)
	left := leave(t, client, nil)
	said := later(t, config)
	if !ending(t.Context(), t, client, left.Name, left.UID) {
		t.Errorf("what was left is still there: %s", said)
	}
	lists := 0
	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code == 403 {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		if e.Namespace == left.Name && e.Verb == "list" {
			lists++
		}
		if e.Resource == "namespaces" {
			used[e.Verb] = true
		}
	}
	t.Logf("the looks into what was left took %d lists", lists)
	for _, verb := range rights[0].Verbs {
		if !used[verb] {
			t.Errorf("the right to %s namespaces is documented and not used", verb)
		}
	}
}

// Who may not look into a namespace does not end it, and still has its own.
func TestRightsWithoutTheLook(t *testing.T) {
	t.Parallel()
	c, client := cluster(t)
	config, user := devtest.User(t, c, devtest.Namespace(t, c), devtest.Rights{ClusterWide: documented(t)[:1]})
	audit := devtest.RecordAudit(t, c)
	left := leave(t, client, nil)
	said := later(t, config)
	if !strings.Contains(said, left.Name) && !ending(t.Context(), t, client, left.Name, left.UID) {
		t.Errorf("nothing is said of what was left: %s", said)
	}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Verb == "delete" && e.Name == left.Name {
			t.Error("what could not be looked into was deleted")
		}
	}
}
