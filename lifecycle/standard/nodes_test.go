package standard_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// pool has the images' pods run on nodes of a pool of their own.
const pool = "      tolerations: [{key: pool, value: arm, effect: NoSchedule}]\n"

func addNode(t *testing.T, c *devenv.Cluster, name, architecture string, spec corev1.NodeSpec, labels map[string]string) {
	t.Helper()
	all := map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: architecture, corev1.LabelHostname: name}
	for k, v := range labels {
		all[k] = v
	}
	nodes := devtest.Client(t, c.Config()).CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all}, Spec: spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Nodes are read from the server's cache, which may be behind. What a watch tells is in it.
	if _, err := devtest.Await(t.Context(), nodes.Watch, name, func(*corev1.Node) bool { return true }); err != nil {
		t.Fatal(err)
	}
}

func taint(key, value string, effect corev1.TaintEffect) corev1.NodeSpec {
	return corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Value: value, Effect: effect}}}
}

// TestNodesThatImagesAreNotFor adds nodes of other platforms to a cluster, one
// after the other: those that the pods may be placed on are a reason to refuse.
func TestNodesThatImagesAreNotFor(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{})
	s := newShop(t, c)
	deliver := func() (lifecycle.ReconcileResult, error) {
		return s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	}
	must := func(what string, want lifecycle.Decision) {
		t.Helper()
		if res, err := deliver(); err != nil || res.Plan.Decision != want {
			t.Fatalf("%s: %s, %v", what, res.Plan.Decision, err)
		}
	}
	must("one platform", lifecycle.DecideBuild)
	addNode(t, c, "brain", "arm64", taint("node-role.kubernetes.io/control-plane", "", corev1.TaintEffectNoSchedule), nil)
	must("a control plane of another platform", lifecycle.DecideUnchanged)
	addNode(t, c, "arm-1", "arm64", taint("pool", "arm", corev1.TaintEffectNoSchedule), nil)
	must("a pool that the pods do not tolerate", lifecycle.DecideUnchanged)

	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", pool)})
	s.commit("Let the mail run on ARM")
	for what, request := range map[string]lifecycle.ReconcileRequest{
		"delivery": {}, "dry run": {DryRun: lifecycle.DryRunClient}, "dry run by the server": {DryRun: lifecycle.DryRunServer},
	} {
		request.Commit, request.Repository = s.head(), s.repository()
		_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), request)
		refusedFor(t, what, err, "image mail", "linux/arm64", "Deployment "+s.namespace+"/mail", "arm-1", "platforms: [linux/amd64, linux/arm64]")
	}
	if st := s.status(c.Config()); !st.IsLive() {
		t.Errorf("the refused delivery changed the target: %+v", st)
	}
	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", pool+"      nodeSelector: {kubernetes.io/arch: amd64}\n")})
	s.commit("Not there after all")
	must("a selector keeps the pods off", lifecycle.DecideDeliver)
	s.write(map[string]string{"gitops/mail.yaml": deployment("mail", pool)})
	yaml := strings.Replace(s.git("show", "HEAD:pharos.yaml"), "inputs: [services/mail, go.mod]", "inputs: [services/mail, go.mod]\n  platforms: [linux/amd64, linux/arm64]", 1)
	s.write(map[string]string{"pharos.yaml": yaml + "\n"})
	s.commit("Build the mail for ARM")
	must("the image is for the platform", lifecycle.DecideBuild)

	// A node that joins later is noticed where nothing changed, too; a cordoned
	// one comes back.
	addNode(t, c, "arm-2", "arm64", corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}}, nil)
	_, err := deliver()
	refusedFor(t, "a node that joined", err, "image api", "linux/arm64", "arm-2", "!image mail")
	if st := s.status(c.Config()); !st.IsLive() {
		t.Errorf("afterwards: %+v", st)
	}
}

func refusedFor(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("%s: %v, want an ErrSource", what, err)
		return
	}
	for _, w := range words {
		if unwanted, no := strings.CutPrefix(w, "!"); no == strings.Contains(err.Error(), unwanted) {
			t.Errorf("%s: %q and %q do not go together", what, err, w)
		}
	}
}

// TestNodesThatMayNotBeListed are a finding, before anything is built, and the
// delivery goes on.
func TestNodesThatMayNotBeListed(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	all := []string{"get", "list", "watch", "create", "update", "patch"}
	config, _ := devtest.User(t, c, s.namespace, devtest.Rights{
		Namespaced: []rbacv1.PolicyRule{
			{APIGroups: []string{"", "apps", "coordination.k8s.io"}, Resources: []string{"configmaps", "deployments", "leases", "pods", "events"}, Verbs: all},
		},
		ClusterWide: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}},
	})
	for _, want := range []lifecycle.Decision{lifecycle.DecideBuild, lifecycle.DecideUnchanged} {
		rec := &recorder{}
		res, err := s.lifecycle(config).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: rec.event})
		if err != nil || res.Plan.Decision != want {
			t.Fatalf("decision %s, %v", res.Plan.Decision, err)
		}
		if len(res.Findings) != 1 || res.Findings[0].Subject != "nodes" || !strings.Contains(res.Findings[0].Message, "forbidden") {
			t.Errorf("findings %+v, want that the nodes' platforms are not known", res.Findings)
		}
		said := false
		for _, e := range rec.events {
			said = said || e.Type == lifecycle.EventRendered && len(e.Findings) == 1
		}
		if said != (want == lifecycle.DecideBuild) {
			t.Errorf("it was said before the builds: %t", said)
		}
	}
}

// TestNodesAreListedOnce for a delivery in which all goes well, and only their
// metadata.
func TestNodesAreListedOnce(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg, requests := devtest.Count(c.Config())
	s.reconcile(cfg)
	lists := 0
	for _, r := range requests.Requests() {
		if strings.HasSuffix(r.Path, "/nodes") && r.Method == http.MethodGet {
			lists++
		}
	}
	if lists != 1 {
		t.Errorf("the nodes were listed %d times", lists)
	}
}

// TestPlacements tries the rules on nodes by which pods are placed.
func TestPlacements(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{})
	addNode(t, c, "arm", "arm64", corev1.NodeSpec{}, map[string]string{"zone": "b"})
	addNode(t, c, "evicting", "s390x", taint("maintenance", "", corev1.TaintEffectNoExecute), nil)
	addNode(t, c, "disliked", "ppc64le", taint("slow", "", corev1.TaintEffectPreferNoSchedule), nil)
	addNode(t, c, "small", "arm", corev1.NodeSpec{}, map[string]string{"zone": "s"})
	cluster, err := standard.NewCluster(c.Config(), "pharos")
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := cluster.Platforms(t.Context())
	if got := strings.Join(platforms, " "); err != nil || got != "linux/amd64 linux/arm/v7 linux/arm64 linux/ppc64le linux/s390x" {
		t.Errorf("platforms %s, %v", got, err)
	}
	const anywhere = "amd64 arm arm64 ppc64le"
	for name, tc := range map[string]struct{ kind, json, want, images string }{
		"plain":      {"Deployment", `{"spec":{"template":{"spec":{"containers":[{"image":"a"}],"initContainers":[{"image":"i"}]}}}}`, anywhere, "i a"},
		"cron job":   {"CronJob", `{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"image":"a"}]}}}}}}`, anywhere, "a"},
		"pod":        {"Pod", `{"spec":{"containers":[{"image":"a"}],"nodeSelector":{"zone":"b"}}}`, "arm64", "a"},
		"named node": {"Pod", `{"spec":{"containers":[{"image":"a"}],"nodeName":"evicting"}}`, "s390x", "a"},
		"affinity": {"Deployment", `{"spec":{"template":{"spec":{"containers":[{"image":"a"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":` +
			`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/arch","operator":"In","values":["arm64","ppc64le"]}]}]}}}}}}}`, "arm64 ppc64le", "a"},
		"preference": {"Deployment", `{"spec":{"template":{"spec":{"containers":[{"image":"a"}],"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":` +
			`[{"weight":1,"preference":{"matchExpressions":[{"key":"zone","operator":"Exists"}]}}]}}}}}}`, anywhere, "a"},
		"tolerant":   {"Pod", `{"spec":{"containers":[{"image":"a"}],"tolerations":[{"operator":"Exists"}]}}`, "amd64 arm arm64 ppc64le s390x", "a"},
		"of a CRD":   {"Rollout", `{"spec":{"template":{"spec":{"containers":[{"image":"a"}]}}}}`, anywhere, "a"},
		"a CRD":      {"CustomResourceDefinition", `{"spec":{"containers":[{"image":"a"}]}}`, "none", ""},
		"other list": {"Ships", `{"spec":{"containers":["blue","red"]}}`, "none", ""},
	} {
		got, err := cluster.Placements(t.Context(), []lifecycle.Object{{Kind: tc.kind, Name: name, JSON: []byte(tc.json)}})
		if err != nil {
			t.Fatal(err)
		}
		if tc.want == "none" {
			if len(got) > 0 {
				t.Errorf("%s: %+v, want no pods", name, got)
			}
			continue
		}
		if len(got) != 1 {
			t.Fatalf("%s: %+v, want one description of pods", name, got)
		}
		var on []string
		for platform := range got[0].Nodes {
			on = append(on, strings.Split(platform, "/")[1])
		}
		if sortedWords(on) != tc.want || strings.Join(got[0].Images, " ") != tc.images {
			t.Errorf("%s: %s of %v, want %s of %s", name, sortedWords(on), got[0].Images, tc.want, tc.images)
		}
	}
}
