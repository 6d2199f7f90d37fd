package apply_test

import (
	"errors"
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
	{APIGroups: []string{""}, Resources: []string{"pods", "events"}, Verbs: []string{"list"}},
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
	verbs := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code >= 400 {
			t.Errorf("%s %s: %d", e.Verb, e.RequestURI, e.Code)
		}
		if e.Resource != "" {
			verbs[e.Verb+" "+e.Resource] = true
		}
	}
	for v := range verbs {
		if !strings.HasPrefix(v, "patch ") && !strings.HasPrefix(v, "list ") && !strings.HasPrefix(v, "watch ") {
			t.Errorf("did %s", v)
		}
	}
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
