package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/supervise/workload"
)

// hourLater is a clock for which every pod has been unready for long.
type hourLater struct{}

func (hourLater) Now() time.Time                         { return later() }
func (hourLater) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (b *bench) group(rules []rbacv1.PolicyRule, p supervise.Policy, namespaces ...string) *workload.Group {
	b.Helper()
	config, _ := devtest.User(b.T, b.cluster, b.namespace, devtest.Rights{Namespaced: rules})
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	g, err := workload.NewGroup(workload.GroupConfig{Client: client, Namespaces: append(namespaces, b.namespace), Policy: p, Clock: hourLater{}})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// ask has a Deployment supervised, or not any more.
func (b *bench) ask(name, value string) {
	b.Helper()
	b.patch(name, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, keys.Supervise, value))
}

// Those that ask for it are supervised, each by its own budget, and no others.
func TestGroup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, reason := range map[string]string{"api": crash, "mail": "", "web": crash, "job": crash} {
		b.deployment(name, 1, reason)
	}
	for name, value := range map[string]string{"api": "true", "mail": "true", "web": "yes"} {
		b.ask(name, value)
	}
	g := b.group(grouped, supervise.Policy{Failures: 1, Restarts: 1, Pause: -1})
	for _, want := range []string{"api restart, mail ", "api park, mail ", "api , mail "} {
		results, err := g.Round(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range results {
			if r.Err != nil || r.Kind != workload.Deployment || r.Namespace != b.namespace {
				t.Errorf("got %+v", r)
			}
			got = append(got, r.Name+" "+string(r.Report.Action))
		}
		if is := strings.Join(got, ", "); is != want {
			t.Fatalf("got %s, want %s", is, want)
		}
		b.pods("api", 1, settled(crash))
	}
	if parked, _ := b.marks("api"); !strings.HasPrefix(parked, "1 restart did not help: ") {
		t.Errorf("parked: %q", parked)
	}
	b.ask("api", "false")
	if results, err := g.Round(t.Context()); err != nil || len(results) != 1 {
		t.Errorf("it does not ask any more: %+v, %v", results, err)
	}
}

// grouped are the rights that a Group takes in a namespace.
var grouped = []rbacv1.PolicyRule{
	{APIGroups: []string{"apps"}, Resources: []string{"daemonsets", "deployments", "statefulsets"}, Verbs: []string{"get", "list", "patch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"replicasets"}, Verbs: []string{"list"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "delete"}},
}

// What cannot be looked at keeps no other workload from being supervised.
func TestGroupGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 1, crash)
	b.deployment("bad", 1, crash)
	b.ask("api", "true")
	b.ask("bad", "true")
	b.patch("bad", `{"metadata":{"annotations":{"pharos.dev/restart-budget":"{"}}}`)
	less := slices.Clone(grouped)
	less[0].Resources = []string{"deployments"}
	results, err := b.group(less, supervise.Policy{Failures: 1, Pause: -1}, "elsewhere").Round(t.Context())
	if err == nil || !strings.Contains(err.Error(), "list the deployments of namespace elsewhere") || !strings.Contains(err.Error(), "list the statefulsets of namespace "+b.namespace) {
		t.Errorf("the error is %v", err)
	}
	if len(results) != 2 || results[0].Report.Action != supervise.Restart || !is(results[1].Err, supervise.ErrDamaged) {
		t.Errorf("got %+v", results)
	}
}

func TestConfigOfAGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]workload.GroupConfig{
		"nothing":               {},
		"no name":               {Client: &dynamic.DynamicClient{}, Namespaces: []string{""}},
		"a time below 0":        {Client: &dynamic.DynamicClient{}, Namespaces: []string{"shop"}, Every: -1},
		"a policy that is none": {Client: &dynamic.DynamicClient{}, Namespaces: []string{"shop"}, Policy: supervise.Policy{Restarts: -1}},
	} {
		if _, err := workload.NewGroup(c); !is(err, supervise.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
