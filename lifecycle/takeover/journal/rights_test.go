package journal_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// documented are the rights that the package comment names.
var documented = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "patch", "delete"}, ResourceNames: []string{"pharos-devbox.takeover"}},
}

// Each right is used, and where one is missing the error names it.
func TestStoreRights(t *testing.T) {
	t.Parallel()
	use := func(s *journal.Store, namespace string) error {
		session, err := s.Create(t.Context(), document(namespace))
		if err != nil {
			return err
		}
		if session, err = s.Beat(t.Context(), session); err != nil {
			return err
		}
		return s.Delete(t.Context(), session)
	}
	p := newPlace(t)
	config, user := devtest.User(t, p.cluster, p.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, p.cluster)
	if err := use(p.store(config, nil), p.namespace); err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		did = append(did, e.Verb)
	}
	if got := strings.Join(did, " "); got != "get create patch delete" {
		t.Errorf("it did %s", got)
	}
	for _, verb := range []string{"create", "get", "patch", "delete"} {
		less := slices.Clone(documented)
		for i := range less {
			less[i].Verbs = slices.DeleteFunc(slices.Clone(less[i].Verbs), func(v string) bool { return v == verb })
		}
		less = slices.DeleteFunc(less, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
		p := newPlace(t)
		config, _ := devtest.User(t, p.cluster, p.namespace, devtest.Rights{Namespaced: less})
		err := use(p.store(config, nil), p.namespace)
		if err == nil || !strings.Contains(err.Error(), "cannot "+verb+" resource \"secrets\"") || !strings.Contains(err.Error(), "What is needed is") {
			t.Errorf("without %s: %v", verb, err)
		}
	}
}
