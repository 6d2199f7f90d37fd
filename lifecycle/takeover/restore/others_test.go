package restore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// Where something else puts back what Git declares, it is only looked, and what is
// written down goes when that is done.
func TestOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 2*time.Minute, "api")
	audit := devtest.RecordAudit(t, b.cluster)
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: append(slices.Clip(toSee),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"}, ResourceNames: []string{"pharos-devbox.takeover"}})})
	r := b.restorer(config, func(c *restore.Config) { c.Others = true })
	b.silent()
	for _, end := range []func(){func() {}, b.release} { // first the holder is silent
		end()
		if report := b.pass(r); report.Done || report.Diverted != 1 || report.Reason == "" || !strings.Contains(report.Left, "what delivers the target puts it back") {
			t.Errorf("got %+v", report)
		}
	}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Verb != "get" && e.Resource != "selfsubjectaccessreviews" {
			t.Errorf("it did %s %s", e.Verb, e.RequestURI)
		}
	}
	b.diverted()
	// Self-heal does it, by the values that Git declares.
	b.deliverAnew("api")
	report := b.pass(r)
	if !report.Done || report.Diverted != 0 || report.Left != "" || len(report.Workloads) != 1 || report.Workloads[0].Outcome != divert.OutcomeWhole {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Verb != "get" && e.Resource != "selfsubjectaccessreviews" && e.Verb+" "+e.Resource != "delete secrets" {
			t.Errorf("it did %s %s", e.Verb, e.RequestURI)
		}
	}
}

// While its holder may come back, what is written down stays, also if nothing of the
// agent is there; and a person may put back what something else has not yet.
func TestOthersLeaveWhatTheHolderHas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 2*time.Minute, "api")
	b.silent()
	others := b.restorer(b.cluster.Config(), func(c *restore.Config) { c.Others = true })
	b.deliverAnew("api")
	if report := b.pass(others); report.Done || report.Reason == "" {
		t.Errorf("got %+v", report)
	}
	if _, err := b.store.Load(t.Context()); err != nil {
		t.Error(err)
	}
	b.release()
	if report, err := others.Restore(t.Context(), restore.Request{}); err != nil || !report.Done {
		t.Errorf("got %+v, %v", report, err)
	}
	b.whole(false)
}
