package apply_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
)

// documented are the rights that the package comment names, for what is
// delivered here.
var documented = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch", "list", "watch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create", "patch", "list", "watch"}},
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create", "patch", "list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"pods", "events"}, Verbs: []string{"list"}},
	{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
}

func TestDocumentedRightsSuffice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	b.Deliverer = newDeliverer(t, apply.Config{RESTConfig: config, DefaultNamespace: b.namespace})
	audit := devtest.RecordAudit(t, b.cluster)
	docs := configMap + "\n---\n" + deployment
	objects := b.deliver(t, docs)
	b.wait(t, objects)
	b.deliver(t, nowhere(docs))
	unschedulable(t, b, "api")
	o := b.observe(t, lifecycle.ObserveRequest{Objects: objects})
	mustContain(t, strings.Join(reasons(o.Unready), "\n"), "0/1 nodes are available")
	failing := strings.Replace(onceJob, "labels: {app: migrate}", `labels: {app: migrate}, annotations: {hollow.pharos.dev/exit-code: "3"}`, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := b.Wait(ctx, lifecycle.ObserveRequest{Target: b.namespace, Objects: b.deliver(t, failing)}); !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Errorf("got %v", err)
	}
	b.wait(t, b.deliver(t, onceJob)) // asks the events, and watches
	verbs := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		// A pod of the hollow node has no log to read.
		if e.Code >= 400 && (e.Subresource != "log" || e.Code == http.StatusForbidden) {
			t.Errorf("%s %s: %d", e.Verb, e.RequestURI, e.Code)
		}
		if e.Resource != "" {
			verbs[strings.TrimSuffix(e.Verb+" "+e.Resource+"/"+e.Subresource, "/")] = true
		}
	}
	// A patch that creates needs the verb create too: see TestMissingRightsAreNamed.
	// What was healthy at the first look was not watched.
	maps.DeleteFunc(verbs, func(v string, _ bool) bool { return v == "watch deployments" || v == "watch jobs" })
	want(t, "verbs", slices.Sorted(maps.Keys(verbs)), "get pods/log", "list configmaps", "list deployments", "list events", "list jobs", "list pods",
		"patch configmaps", "patch deployments", "patch jobs")
}

func TestMissingRightsAreNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.request(t, configMap)
	for _, tt := range []struct {
		verbs []string
		says  string
	}{
		{[]string{"watch"}, "cannot list resource"},
		{[]string{"list", "create"}, "cannot patch resource"},
		{[]string{"list", "patch"}, "cannot create resource"},
	} {
		config, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: tt.verbs}}})
		_, err := newDeliverer(t, apply.Config{RESTConfig: config}).Deliver(t.Context(), r)
		if !errors.Is(err, lifecycle.ErrUnreachable) {
			t.Errorf("%v: wrong class: %v", tt.verbs, err)
		}
		mustContain(t, err.Error(), tt.says, "configmaps", "Ask an administrator")
	}
}

// Objects in several namespaces are listed across all of them, and where that
// is forbidden, namespace by namespace.
func TestSeveralNamespaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := devtest.Namespace(t, b.cluster)
	docs := configMap + "\n---\n" + strings.Replace(configMap, "name: settings", "name: settings, namespace: "+other, 1)
	objects := b.deliver(t, docs)
	b.requests.Reset()
	if o := b.observe(t, lifecycle.ObserveRequest{Objects: objects}); len(o.Seen) != 2 || len(b.requests.Requests()) != 1 {
		t.Errorf("saw %+v with %v", o, b.requests.Requests())
	}

	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	if _, err := b.admin.RbacV1().Roles(other).Create(t.Context(), role(), created); err != nil {
		t.Fatal(err)
	}
	if _, err := b.admin.RbacV1().RoleBindings(other).Create(t.Context(), binding(user), created); err != nil {
		t.Fatal(err)
	}
	awaitRight(t, config, other)
	b.Deliverer = newDeliverer(t, apply.Config{RESTConfig: config})
	audit := devtest.RecordAudit(t, b.cluster)
	for range 2 {
		if o := b.observe(t, lifecycle.ObserveRequest{Objects: objects}); len(o.Seen) != 2 {
			t.Errorf("saw %+v", o)
		}
	}
	var codes []int
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		codes = append(codes, e.Code)
	}
	if len(codes) != 5 || codes[0] != 403 {
		t.Errorf("answers %v", codes)
	}
}
