package devtest

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// Audit is what the API server was asked from the moment on when [RecordAudit] was called.
type Audit struct{ log *devenv.AuditLog }

// RecordAudit starts to watch the cluster's audit log. It needs a cluster that this process started.
func RecordAudit(t testing.TB, c *devenv.Cluster) *Audit {
	t.Helper()
	log, err := c.AuditFromNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &Audit{log}
}

// Events returns the requests so far for which keep returns true, in the order in which the API server received them;
// nil keeps all. Every request that was answered before the call is among them. Tests that run in parallel share a
// cluster: tell their requests apart by user, namespace or user agent.
func (a *Audit) Events(t testing.TB, keep func(devenv.AuditEvent) bool) []devenv.AuditEvent {
	t.Helper()
	all, err := a.log.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if keep == nil {
		return all
	}
	var kept []devenv.AuditEvent
	for _, e := range all {
		if keep(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// ByUser keeps the requests made as the user; see [User].
func ByUser(name string) func(devenv.AuditEvent) bool {
	return func(e devenv.AuditEvent) bool { return e.User == name }
}

// InNamespace keeps the requests for objects in the namespace.
func InNamespace(namespace string) func(devenv.AuditEvent) bool {
	return func(e devenv.AuditEvent) bool { return e.Namespace == namespace }
}
