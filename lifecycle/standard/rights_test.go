package standard_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// TestDocumentedRights delivers with the rights that docs/reconcile.md shows and
// no others, and wants each verb on Pharos's own objects to be used.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	rights := documentedRights(t, s)
	config, user := devtest.User(t, c, s.namespace, rights)
	audit := devtest.RecordAudit(t, c)
	first := s.reconcile(config).Receipt
	s.reconcile(config)
	s.history(first)
	s.currency("NOK")
	l, err := standard.Config(s.target(), s.options(config))
	if err != nil {
		t.Fatal(err)
	}
	l.Keep = lifecycle.MinKeep
	forgetting, err := lifecycle.New(l)
	if err != nil {
		t.Fatal(err)
	}
	res, err := forgetting.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if err != nil || len(res.Dropped) == 0 {
		t.Errorf("dropped %v, %v", res.Dropped, err)
	}
	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", "      nodeSelector: {no: such-node}\n")})
	s.commit("Ask for a node that is not there")
	_, err = s.lifecycle(config).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Timeout: time.Second})
	if !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Errorf("the delivery that fails: %v", err)
	}
	if st := s.status(config); len(st.Observation.Unready) != 1 {
		t.Errorf("status %+v", st.Observation)
	}
	store, err := s.receipts(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.List(t.Context()); err != nil {
		t.Error(err)
	}
	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code == 403 {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		used[e.Verb+" "+e.Resource] = true
	}
	for _, rule := range rights.Namespaced {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				// An apply that creates is a patch, and needs both rights. Events
				// are read where pods say nothing, and only what is not healthy
				// at once is watched.
				foreseen := resource == "events" || verb == "create" && used["patch "+resource] || verb == "watch" && resource == "configmaps"
				if !used[verb+" "+resource] && !foreseen {
					t.Errorf("the right to %s %s is documented and not used", verb, resource)
				}
			}
		}
	}
}

// documentedRights are those of the documentation, for the shop's namespace.
func documentedRights(t *testing.T, s *shop) (rights devtest.Rights) {
	t.Helper()
	for _, role := range documentedRoles(t) {
		for i, name := range role.Rules[0].ResourceNames {
			if name == "pharos" {
				role.Rules[0].ResourceNames[i] = s.namespace
			}
		}
		if role.Kind == "ClusterRole" {
			rights.ClusterWide = append(rights.ClusterWide, role.Rules...)
		} else {
			rights.Namespaced = append(rights.Namespaced, role.Rules...)
		}
	}
	return rights
}

// documentedRoles are those of the documentation.
func documentedRoles(t *testing.T) []rbacv1.ClusterRole {
	t.Helper()
	page, err := os.ReadFile("../../docs/reconcile.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Rights\n")
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var roles []rbacv1.ClusterRole
	for doc := range strings.SplitSeq(text, "---\n") {
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := yaml.UnmarshalStrict([]byte(doc), &role); err != nil {
			t.Fatal(err)
		}
		roles = append(roles, role)
	}
	if len(roles) != 3 {
		t.Fatalf("%d roles are documented, want 3", len(roles))
	}
	return roles
}
