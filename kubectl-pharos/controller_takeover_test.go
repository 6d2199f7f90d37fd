package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/receipt"
)

const (
	deliveredImage = "registry.example/shop/api@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	agentImage     = "registry.example/shop/pharos-agent@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// takenOver has somebody take the Deployment api over, whose lease is over then.
func takenOver(t *testing.T, c *devenv.Cluster, ns string) {
	t.Helper()
	if err := taking(t, c, ns).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// taking is takenOver by somebody who still has the lease.
func taking(t *testing.T, c *devenv.Cluster, ns string) *lease.Held {
	t.Helper()
	ctx, apps := t.Context(), devtest.Client(t, c.Config()).AppsV1()
	declared := fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","labels":{"pharos.dev/target":"devbox"}},
		"spec":{"replicas":1,"selector":{"matchLabels":{"app":"api"}},"template":{"metadata":{"labels":{"app":"api"}},"spec":{"containers":[{"name":"api","image":%q,"command":["/bin/api"]}]}}}}`, deliveredImage)
	w, err := apps.Deployments(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=api"})
	if err == nil {
		_, err = apps.Deployments(ns).Patch(ctx, "api", types.ApplyPatchType, declared, metav1.PatchOptions{FieldManager: "pharos-devbox"})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if d, ok := e.Object.(*appsv1.Deployment); ok && d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas == 1 {
			break
		}
	}
	m, err := lease.New(lease.Config{REST: c.Config(), Namespace: ns, Target: "devbox"})
	if err != nil {
		t.Fatal(err)
	}
	held, err := m.Acquire(ctx, lease.Request{Mode: lease.ModeBorrow, User: "ann@desk"})
	if err != nil {
		t.Fatal(err)
	}
	writer, err := divert.New(divert.Config{REST: c.Config(), Guard: held.Check})
	if err != nil {
		t.Fatal(err)
	}
	live, err := writer.Read(ctx, divert.Subject{Namespace: ns, Name: "api"})
	if err != nil {
		t.Fatal(err)
	}
	d, refusals, _, err := divert.Plan(live, declared, "api", agentImage)
	if err != nil || len(refusals) > 0 {
		t.Fatal(refusals, err)
	}
	store, err := journal.NewStore(journal.StoreConfig{REST: c.Config(), Namespace: ns, Target: "devbox"})
	if err == nil {
		_, err = store.Create(ctx, journal.Document{Session: "S1", Target: "devbox", Namespace: ns, Cluster: "C", Holder: held.Holder(), Token: held.Token(), User: "ann@desk",
			Step: journal.Serving, Workloads: []journal.Workload{{State: journal.Diverting, Diversion: d}}})
	}
	if err == nil {
		err = writer.Divert(ctx, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// imageIn is that of the Deployment api.
func imageIn(t *testing.T, c *devenv.Cluster, ns string) string {
	t.Helper()
	d, err := devtest.Client(t, c.Config()).AppsV1().Deployments(ns).Get(t.Context(), "api", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Spec.Template.Spec.Containers[0].Image
}

// delivers is a target that delivers the Deployment api.
func delivers(ns string) lifecycle.PrepareRequest {
	return lifecycle.PrepareRequest{Target: "devbox", Namespace: ns, Resolved: []receipt.Object{{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: ns, Name: "api"}}}
}

// What deploy installs for a target without Argo CD puts back what somebody took over
// who is gone, with the rights that it has and no others, and each of them is used.
func TestControllerEndsATakeover(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	takenOver(t, c, ns)
	args, rights := preparedController(t, standard.Controller{}, delivers(ns))
	config, user := devtest.User(t, c, ns, rights)
	audit := devtest.RecordAudit(t, c)
	r := startController(t, devtest.Kubeconfig(t, config), args...)
	r.says("msg=\"put a workload back that was taken over\"", "user=ann@desk", "reason=\"its lease is over\"", ns+"/api")
	r.says("msg=\"ended a takeover\"", "session=S1")
	if m := r.metrics(); !strings.Contains(m, `pharos_takeover_restored_total{namespace="`+ns+`",outcome="restored",target="devbox"} 1`) ||
		!strings.Contains(m, `pharos_takeover_workloads{namespace="`+ns+`",target="devbox"} 0`) || !strings.Contains(m, `pharos_takeover_over{namespace="`+ns+`",target="devbox"} 0`) {
		t.Errorf("the metrics are %s", m)
	}
	if rest, code := r.end(syscall.SIGTERM); code != exitDone || strings.Contains(rest, "level=WARN") {
		t.Errorf("exit code %d: %s", code, rest)
	}
	if image := imageIn(t, c, ns); image != deliveredImage {
		t.Errorf("the image is %s", image)
	}
	events, err := devtest.Client(t, c.Config()).EventsV1().Events(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, e := range events.Items {
		if e.Reason == "TakeoverEnded" && e.Regarding.Kind == "Lease" {
			said += e.Note
		}
	}
	if want := "ended the takeover of ann@desk: its lease is over: Deployment " + ns + "/api restored"; said != want {
		t.Errorf("the Event says %q, want %q", said, want)
	}
	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		used[e.Verb+" "+e.Resource] = true
		if e.Code == http.StatusForbidden {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		if uid, version := e.Preconditions(); e.Verb == "delete" && (uid == "" || version == "") {
			t.Errorf("%s was deleted without preconditions", e.RequestURI)
		}
	}
	for _, rule := range rights.Namespaced {
		for _, verb := range rule.Verbs {
			if !used[verb+" "+rule.Resources[0]] {
				t.Errorf("the right to %s %s is given and not used", verb, rule.Resources[0])
			}
		}
	}
}

// Without a right the controller says which, and goes on with the rest.
func TestControllerWithoutRightsToTakeovers(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	for _, missing := range []string{"get secrets", "patch secrets", "get deployments", "patch deployments", "delete secrets"} {
		t.Run(strings.ReplaceAll(missing, " ", "-"), func(t *testing.T) {
			t.Parallel()
			ns := devtest.Namespace(t, c)
			takenOver(t, c, ns)
			args, rights := preparedController(t, standard.Controller{}, delivers(ns))
			verb, resource, _ := strings.Cut(missing, " ")
			for i, rule := range rights.Namespaced {
				if rule.Resources[0] == resource {
					rights.Namespaced[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
				}
			}
			for i := len(rights.Namespaced) - 1; i >= 0; i-- {
				if len(rights.Namespaced[i].Verbs) == 0 {
					rights.Namespaced = slices.Delete(rights.Namespaced, i, i+1)
				}
			}
			config, _ := devtest.User(t, c, ns, rights)
			r := startController(t, devtest.Kubeconfig(t, config), args...)
			r.says("level=WARN", "the sessions of takeovers could not be looked after", fmt.Sprintf("cannot %s resource \\\"%s\\\"", verb, resource))
			if rest, code := r.end(syscall.SIGTERM); code != exitDone {
				t.Errorf("exit code %d: %s", code, rest)
			}
		})
	}
}

// With Argo CD the controller looks, says so once, and touches nothing.
func TestControllerLeavesATakeoverToArgoCD(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	takenOver(t, c, ns)
	kubeconfig := devtest.Kubeconfig(t, c.Config())
	r := startController(t, kubeconfig, "controller", "--health-address=127.0.0.1:0", "--leader-lease="+ns+"/pharos-devbox.controller", "--watch-target="+ns+"/devbox", "--argocd-namespace="+ns)
	r.says("msg=\"a takeover is over\"", "user=ann@desk", "what delivers the target puts it back")
	if m := r.metrics(); !strings.Contains(m, `pharos_takeover_workloads{namespace="`+ns+`",target="devbox"} 1`) || !strings.Contains(m, `pharos_takeover_over{namespace="`+ns+`",target="devbox"} 1`) {
		t.Errorf("the metrics are %s", m)
	}
	if rest, code := r.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d: %s", code, rest)
	}
	if image := imageIn(t, c, ns); image != agentImage {
		t.Errorf("the image is %s", image)
	}
}
