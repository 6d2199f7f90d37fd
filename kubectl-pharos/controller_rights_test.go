package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
)

// leftOver is a target for which a window is left over that has ended.
func leftOver(t *testing.T) *borrowed {
	t.Helper()
	b := newTarget(t, devtest.ArgoCD(t))
	b.push("declared")
	mark := argo.Mark{Namespace: b.name, Target: "devbox", Token: 1, Holder: "HOLDER", End: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.create(b.projects, fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %[1]s}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  syncWindows: [{kind: deny, schedule: "1 1 1 1 *", duration: 1m, applications: [%[1]q, %[2]q]}]
`, b.name, mark.String()))
	b.create(b.apps, b.application(notHealing))
	m, err := lease.New(lease.Config{REST: b.argo.Cluster().Config(), Namespace: b.name, Target: "devbox"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := m.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver})
	if err == nil {
		err = h.Release(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// contended is the controller's connection, on which somebody else changes the
// project right before its window is written.
func (b *borrowed) contended(config *rest.Config) *rest.Config {
	b.t.Helper()
	config, proxy := proxiedThrough(b.t, config)
	stalled := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile("/appprojects/"), Times: 1, Do: faultproxy.Stall()})
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		select {
		case <-stalled.Reached():
			b.annotate("contended", "true")
			stalled.Release()
		case <-b.t.Context().Done():
		}
	}()
	b.t.Cleanup(func() { <-changed })
	return config
}

// Each right that deploy gives the controller is used, and named where it is
// missing.
func TestControllerRights(t *testing.T) {
	t.Parallel()
	all := leftOver(t)
	audit := devtest.RecordAudit(t, all.argo.Cluster())
	r := all.controller(all.contended(all.account()))
	r.says("msg=\"opened what a lease had left closed\"")
	if rest, code := r.end(syscall.SIGTERM); code != exitDone || strings.Contains(rest, "level=WARN") {
		t.Errorf("exit code %d: %s", code, rest)
	}
	used := map[string]bool{}
	for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool {
		return e.User == all.user() && e.Resource != "selfsubjectaccessreviews"
	}) {
		name := ""
		if (e.Resource == "leases" || e.Resource == "secrets") && e.Verb != "create" {
			name = " " + e.Name
		}
		used[e.Verb+" "+e.Resource+name] = true
		if e.Code == http.StatusForbidden {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
	}
	for _, right := range all.rights() {
		if !used[right.String()] {
			t.Errorf("the right to %s is given and not used: %v", right, used)
		}
		delete(used, right.String())
	}
	if len(used) > 0 {
		t.Errorf("without a right to it, it did %v", used)
	}

	for i, right := range all.rights() {
		t.Run(strings.ReplaceAll(right.String(), " ", "-"), func(t *testing.T) {
			t.Parallel()
			b := leftOver(t)
			missing := b.rights()[i]
			r := b.controller(b.contended(b.account(missing)))
			r.says("level=WARN", fmt.Sprintf("cannot %s resource \\\"%s\\\"", missing.verb, missing.resource))
		})
	}
}
