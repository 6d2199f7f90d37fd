package inventory_test

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

func faulty(t *testing.T, config *rest.Config, rule faultproxy.Rule) (*rest.Config, *faultproxy.Fault) {
	t.Helper()
	proxy, err := faultproxy.ForCluster(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy.Config(config), proxy.Add(rule)
}

// documented are the rights that the documentation names: in a namespace, and in the
// whole cluster.
func documented(t *testing.T) devtest.Rights {
	t.Helper()
	page, err := os.ReadFile("../../docs/inventory.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Rights\n")
	var rules [2][]rbacv1.PolicyRule
	for n := range rules {
		_, text, _ = strings.Cut(text, "```yaml\n")
		var role rbacv1.Role
		var block string
		block, text, _ = strings.Cut(text, "```\n")
		if err := yaml.UnmarshalStrict([]byte(block), &role); err != nil || len(role.Rules) == 0 {
			t.Fatalf("%v in %s", err, block)
		}
		rules[n] = role.Rules
	}
	return devtest.Rights{Namespaced: rules[0], ClusterWide: rules[1]}
}

// gaps are the resources that were not read in a namespace, or in all.
func gaps(r inventory.Report, namespace string) []string {
	var names []string
	for _, g := range r.Coverage {
		if g.Namespace == namespace {
			names = append(names, strings.TrimSuffix(g.Resource+"/"+g.Name, "/"))
		}
	}
	return names
}

// With the documented rights a namespace is seen without gaps but for what needs a
// rule of its own, nothing is written, and each right is used.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	declared := b.mixed(t)
	rights := documented(t)
	config, user := devtest.User(t, b.cluster, b.namespace, rights)
	audit := devtest.RecordAudit(t, b.cluster)
	r := take(t, config, inventory.Config{Target: "devbox"}, inventory.Request{Namespaces: []string{b.namespace}, Declared: declared})
	want(t, "findings", b.lines(r),
		"Missing Deployment NS/gone",
		"Missing Thing NS/served",
		"Drifted ConfigMap NS/declared",
		"Refused ConfigMap NS/wrong",
		"Overdue ConfigMap NS/late",
		"NoOwner PersistentVolume released-NS",
		"NoOwner PersistentVolumeClaim NS/data",
		"Orphaned ConfigMap NS/orphan",
	)
	want(t, "not read in the namespace", gaps(r, b.namespace), "secrets/token")
	want(t, "not known", []string{r.Declared.Unknown[0].String()}, "Secret "+b.namespace+"/token")
	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Verb != "list" && e.Verb != "get" {
			t.Errorf("it did %s %s", e.Verb, e.RequestURI)
		}
		if e.Code == http.StatusOK {
			used[e.Verb+" "+e.Resource] = true
		}
	}
	for _, rule := range slices.Concat(rights.Namespaced, rights.ClusterWide) {
		for _, resource := range rule.Resources {
			// Not every cluster has snapshots.
			if !used[rule.Verbs[0]+" "+resource] && resource != "volumesnapshots" {
				t.Errorf("the right to %s %s is documented and not used", rule.Verbs[0], resource)
			}
		}
	}
}

// With hardly any right, what can be seen is seen, and nothing is missing that could
// not be looked for.
func TestFewRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	declared := b.mixed(t)
	declared.Objects[1].Seen = true // an object whose keeper has just seen it
	config, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	}})
	for name, request := range map[string]inventory.Request{
		"the namespace":  {Namespaces: []string{b.namespace}, Declared: declared},
		"all namespaces": {AllNamespaces: true, Declared: declared},
	} {
		r := take(t, config, inventory.Config{Target: "devbox"}, request)
		want(t, name, b.lines(r), "Missing Thing NS/served", "NoOwner PersistentVolumeClaim NS/data", "NoOwner PersistentVolumeClaim NS/data-db-7")
		var unknown []string
		for _, u := range r.Declared.Unknown {
			unknown = append(unknown, strings.ReplaceAll(u.String(), b.namespace, "NS"))
		}
		want(t, "not known in "+name, unknown, "ConfigMap NS/declared", "Deployment NS/gone", "Job NS/ran")
		if r.Declared.Found != 2 || !slices.Contains(gaps(r, b.namespace), "configmaps") || !slices.Contains(gaps(r, ""), "namespaces") {
			t.Errorf("%s: %d found, not read %+v", name, r.Declared.Found, r.Coverage)
		}
		for _, g := range r.Coverage {
			if !g.Forbidden || g.Message == "" {
				t.Errorf("%s: gap %+v", name, g)
			}
		}
	}
}

// A group whose server does not answer may have objects that nobody sees: what is
// declared of it is not known, and all other groups are read.
func TestGroupThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.mine-NS.pharos.test}
spec:
  group: mine-NS.pharos.test
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: nobody, namespace: NS}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NS}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`)
	group := "mine-" + b.namespace + ".pharos.test"
	declared := &inventory.Declaration{Objects: []inventory.DeclaredObject{{Ref: inventory.Ref{Group: group, Kind: "Thing", Namespace: b.namespace, Name: "a"}}}}
	var r inventory.Report
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		r = take(t, b.cluster.Config(), inventory.Config{}, inventory.Request{Namespaces: []string{b.namespace}, Declared: declared})
		return slices.Contains(gaps(r, ""), group+"/v1"), nil
	})
	if err != nil {
		t.Fatalf("%v: coverage %+v", err, r.Coverage)
	}
	want(t, "findings", b.lines(r), "NoOwner PersistentVolumeClaim NS/data")
	if len(r.Declared.Unknown) != 1 || len(r.Declared.Missing) > 0 {
		t.Errorf("declared %+v", r.Declared)
	}
}

// A list that fails makes a gap, and what was to be found in it is asked for by name.
// A server that does not answer at all is an error.
func TestFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}")
	declared := &inventory.Declaration{Objects: []inventory.DeclaredObject{
		{Ref: inventory.Ref{Kind: "ConfigMap", Namespace: b.namespace, Name: "a"}}, {Ref: inventory.Ref{Kind: "ConfigMap", Namespace: b.namespace, Name: "b"}},
	}}
	request := inventory.Request{Namespaces: []string{b.namespace}, Declared: declared}
	for name, tt := range map[string]struct {
		rule faultproxy.Rule
		gap  bool
	}{
		"500 once":     {faultproxy.Rule{Path: regexp.MustCompile("/configmaps$"), Times: 1, Do: faultproxy.Answer(http.StatusInternalServerError)}, false},
		"429 once":     {faultproxy.Rule{Path: regexp.MustCompile("/configmaps$"), Times: 1, Do: faultproxy.TooManyRequests(0)}, false},
		"cut once":     {faultproxy.Rule{Path: regexp.MustCompile("/configmaps$"), Times: 1, Do: faultproxy.Cut()}, false},
		"500 for good": {faultproxy.Rule{Path: regexp.MustCompile("/configmaps$"), Do: faultproxy.Answer(http.StatusInternalServerError)}, true},
		"404":          {faultproxy.Rule{Path: regexp.MustCompile("/configmaps$"), Do: faultproxy.Answer(http.StatusNotFound)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, fault := faulty(t, b.cluster.Config(), tt.rule)
			r := take(t, config, inventory.Config{}, request)
			want(t, "findings", b.lines(r), "Missing ConfigMap NS/b")
			if r.Declared.Found != 1 || slices.Contains(gaps(r, b.namespace), "configmaps") != tt.gap || fault.Hits() == 0 {
				t.Errorf("%d found, after %d faults, not read: %+v", r.Declared.Found, fault.Hits(), r.Coverage)
			}
		})
	}
	t.Run("discovery", func(t *testing.T) {
		t.Parallel()
		config, _ := faulty(t, b.cluster.Config(), faultproxy.Rule{Path: regexp.MustCompile("/apis$"), Do: faultproxy.Answer(http.StatusServiceUnavailable)})
		i, err := inventory.New(inventory.Config{REST: config})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := i.Take(t.Context(), request); err == nil || !strings.Contains(err.Error(), "discover the resources") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		config, fault := faulty(t, b.cluster.Config(), faultproxy.Rule{Path: regexp.MustCompile("/configmaps$"), Do: faultproxy.Stall()})
		i, err := inventory.New(inventory.Config{REST: config})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-fault.Reached(); cancel() }()
		if r, err := i.Take(ctx, request); err == nil || ctx.Err() == nil {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A look that reads everything writes nothing.
func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := rest.CopyConfig(b.cluster.Config())
	config.UserAgent = "inventory-" + b.namespace
	audit := devtest.RecordAudit(t, b.cluster)
	take(t, config, inventory.Config{}, inventory.Request{AllNamespaces: true})
	events := audit.Events(t, func(e devenv.AuditEvent) bool { return e.UserAgent == config.UserAgent })
	for _, e := range events {
		if e.Verb != "list" && e.Verb != "get" || e.Resource == "secrets" || e.Resource == "events" {
			t.Errorf("it did %s %s", e.Verb, e.RequestURI)
		}
	}
	if len(events) < 20 {
		t.Errorf("only %d requests", len(events))
	}
}
