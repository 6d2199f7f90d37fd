package sweep_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// withoutVerb are the rules without one right.
func withoutVerb(rules []rbacv1.PolicyRule, resource, verb string) []rbacv1.PolicyRule {
	var left []rbacv1.PolicyRule
	for _, r := range rules {
		if r.Resources[0] == resource {
			r.Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return v == verb })
		}
		if len(r.Verbs) > 0 {
			left = append(left, r)
		}
	}
	return left
}

// The rights that a pass needs are those of the documentation; without one of them it
// says so, and does the rest.
func TestRightsOfAPass(t *testing.T) {
	t.Parallel()
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "get", "delete", "patch"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}
	for name, tt := range map[string]struct {
		resource, verb      string
		deleted, note, warn bool
		findings            []string
		gap                 bool
	}{
		"all of them":       {deleted: true, note: true, warn: true},
		"list configmaps":   {resource: "configmaps", verb: "list", gap: true},
		"get configmaps":    {resource: "configmaps", verb: "get", findings: []string{"over", "soon"}},
		"delete configmaps": {resource: "configmaps", verb: "delete", note: true, warn: true, findings: []string{"over"}},
		"patch configmaps":  {resource: "configmaps", verb: "patch", deleted: true, warn: true, findings: []string{"soon"}},
		"create events":     {resource: "events", verb: "create", deleted: true, findings: []string{"soon"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			user, userName := devtest.User(t, w.cluster, w.ns, devtest.Rights{Namespaced: withoutVerb(rules, tt.resource, tt.verb)})
			over, soon := w.configMap(transient("over", past)), w.configMap(transient("soon", soon(time.Minute*30)))
			audit := devtest.RecordAudit(t, w.cluster)
			report := w.pass(ender(t, user, hourBefore, func(c *sweep.Config) { c.Events = true }), sweep.PassOptions{}, "configmaps")
			var findings []string
			for _, f := range report.Findings {
				findings = append(findings, f.Name)
				if f.Reason != sweep.Failed || !strings.Contains(f.Message, "forbidden") {
					t.Errorf("the finding %+v", f)
				}
			}
			noted := w.change(soon, nothing).Annotations[keys.Notified] != ""
			if w.exists(over) == tt.deleted || noted != tt.note || (len(w.events(w.ns, string(soon.UID))) == 1) != tt.warn ||
				!slices.Equal(findings, tt.findings) || (len(report.Gaps) == 1) != tt.gap {
				t.Errorf("got %+v, deleted: %t, noted: %t", report, !w.exists(over), noted)
			}
			wantForbidden(t, audit, userName, tt.resource, tt.verb)
		})
	}
}

// wantForbidden wants only this to have been forbidden.
func wantForbidden(t *testing.T, audit *devtest.Audit, user, resource, verb string) {
	t.Helper()
	forbidden := 0
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code != http.StatusForbidden {
			continue
		}
		if forbidden++; e.Resource != resource || e.Verb != verb {
			t.Errorf("to %s %s was forbidden", e.Verb, e.Resource)
		}
	}
	if (forbidden > 0) != (verb != "") {
		t.Errorf("%d requests were forbidden", forbidden)
	}
}

func TestRightsToEndANamespace(t *testing.T) {
	t.Parallel()
	all := endsNamespaces(t, newWorld(t).ender())
	for _, verb := range []string{"", "list", "get", "patch", "delete"} {
		t.Run("without "+verb, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.over()
			user, userName := devtest.User(t, w.cluster, w.ns, devtest.Rights{ClusterWide: withoutVerb(all, "namespaces", verb)})
			audit := devtest.RecordAudit(t, w.cluster)
			report := w.pass(ender(t, user), sweep.PassOptions{}, "namespaces")
			var got string
			switch {
			case len(report.Gaps) == 1 && len(report.Findings) == 0:
				got = "a gap"
			case len(report.Findings) == 1 && len(report.Gaps) == 0:
				got = string(report.Findings[0].Reason)
			default:
				got = fmt.Sprintf("%d deleted", report.Counts.Deleted)
			}
			if want := map[string]string{"": "1 deleted", "list": "a gap", "get": "Failed", "patch": "Failed", "delete": "Failed"}[verb]; got != want {
				t.Errorf("got %s, want %s: %+v", got, want, report)
			}
			if verb != "" {
				w.wantAlive()
			}
			wantForbidden(t, audit, userName, map[bool]string{true: "namespaces"}[verb != ""], verb)
		})
	}
}

// Without being asked for, nobody's Secrets are listed, or anything but metadata read.
func TestSecretsOnlyWhenNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, name := devtest.User(t, w.cluster, w.ns, devtest.Rights{Existing: "admin"})
	audit := devtest.RecordAudit(t, w.cluster)
	w.configMap(transient("over", past))
	w.pass(ender(t, admin), sweep.PassOptions{}, sweep.Everything)
	w.pass(ender(t, admin), sweep.PassOptions{})
	secrets := func(e devenv.AuditEvent) bool { return e.User == name && e.Resource == "secrets" }
	if got := audit.Events(t, secrets); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	w.pass(ender(t, admin), sweep.PassOptions{}, "secrets")
	if got := audit.Events(t, secrets); len(got) != 1 || got[0].Verb != "list" {
		t.Errorf("when named: got %+v", got)
	}
}
