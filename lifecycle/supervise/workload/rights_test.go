package workload_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// documented are the rights that the package comment names.
var documented = []rbacv1.PolicyRule{
	{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"replicasets"}, Verbs: []string{"list"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "delete"}},
}

// Each right is used, none is missing, and where one is, the error names it and no
// pod is deleted.
func TestRightsVerbByVerb(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 1, crash)
	once := supervise.Policy{Failures: 1, Pause: -1}

	for i, rule := range documented {
		for _, verb := range rule.Verbs {
			less := slices.Clone(documented)
			less[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
			less = slices.DeleteFunc(less, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
			config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: less})
			audit := devtest.RecordAudit(t, b.cluster)
			_, err := b.supervisor(b.workload(config, "api", nil), once).Step(t.Context())
			if err == nil || !strings.Contains(err.Error(), "cannot "+verb+" resource \""+rule.Resources[0]+"\"") || !strings.Contains(err.Error(), b.namespace+"/api") {
				t.Errorf("without %s %s: %v", verb, rule.Resources[0], err)
			}
			if pods := b.deleted(audit, user); len(pods) > 0 {
				t.Errorf("without %s %s it deleted %q", verb, rule.Resources[0], pods)
			}
		}
	}

	if err := b.supervisor(b.workload(b.cluster.Config(), "api", nil), once).Unpark(t.Context()); err != nil {
		t.Fatal(err)
	}
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, b.cluster)
	if r := b.step(b.supervisor(b.workload(config, "api", nil), once)); r.Action != supervise.Restart {
		t.Errorf("got %+v", r)
	}
	var verbs []string
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code >= 400 {
			t.Errorf("%s %s: %d", e.Verb, e.RequestURI, e.Code)
		}
		verbs = append(verbs, e.Verb+" "+e.Resource)
	}
	want := "get deployments, get deployments, list replicasets, list pods, patch deployments, get deployments, list replicasets, list pods, delete pods"
	if got := strings.Join(verbs, ", "); got != want {
		t.Errorf("it did %s\nwant %s", got, want)
	}
}
