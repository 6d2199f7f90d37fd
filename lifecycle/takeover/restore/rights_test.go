package restore_test

import (
	"maps"
	"net/http"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

var (
	toLook = []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}, ResourceNames: []string{"pharos-devbox"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: []string{"pharos-devbox.takeover"}},
	}
	// toSee are those to see what would be done.
	toSee = append(toLook[:len(toLook):len(toLook)], rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}})
	// documented are the rights that the package comment names.
	documented = []rbacv1.PolicyRule{
		toLook[0],
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "patch", "delete"}, ResourceNames: []string{"pharos-devbox.takeover"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}},
	}
)

// The rights are enough, and each is used. What it costs is what is said.
func TestRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api")
	b.settled("api")
	b.release()
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, b.cluster)
	if report := b.pass(b.restorer(config, nil)); !report.Done {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
	did := map[string]int{}
	for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool { return e.User == user && e.Resource != "selfsubjectaccessreviews" }) {
		if e.Code == http.StatusForbidden {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		if e.Code < http.StatusBadRequest { // not what met a write of the rollout
			did[e.Verb+" "+e.Resource]++
		}
	}
	want := map[string]int{"get secrets": 3, "get leases": 1, "patch secrets": 1, "get deployments": 3, "patch deployments": 2, "delete secrets": 1}
	same := func(did, want int) bool { return did == want }
	if did["get deployments"] > want["get deployments"] { // some write was made again
		same = func(did, want int) bool { return did >= want }
	}
	if !maps.EqualFunc(did, want, same) {
		t.Errorf("it did %v, want %v", did, want)
	}
}
