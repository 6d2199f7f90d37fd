package standard_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// deploy prepares the target and delivers HEAD.
func (s *shop) deploy(cfg *rest.Config) lifecycle.DeployResult {
	s.t.Helper()
	res, err := s.lifecycle(cfg).Deploy(s.t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if err != nil {
		s.t.Fatalf("deploy: %v", err)
	}
	return res
}

func (s *shop) checkpoint(cfg *rest.Config) lifecycle.Checkpoint {
	s.t.Helper()
	store, err := standard.NewCheckpoints(cfg, s.namespace, s.namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	at, err := store.Checkpoint(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return at
}

// elsewhere has the shop deliver to a second namespace, which is not there.
func (s *shop) elsewhere(c *devenv.Cluster) string {
	s.t.Helper()
	second := s.namespace + "-second"
	s.write(map[string]string{
		"gitops/kustomization.yaml":        "resources: [first, second]\n",
		"gitops/first/kustomization.yaml":  "namespace: " + s.namespace + "\nresources: [api.yaml, mail.yaml, settings.yaml]\n",
		"gitops/second/kustomization.yaml": "namespace: " + second + "\nresources: [settings.yaml]\n",
		"gitops/second/settings.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: EUR}\n",
	})
	for _, file := range []string{"api.yaml", "mail.yaml", "settings.yaml"} {
		s.git("mv", "gitops/"+file, "gitops/first/"+file)
	}
	s.commit("Open a second shop")
	s.t.Cleanup(func() {
		if err := devtest.Client(s.t, c.Config()).CoreV1().Namespaces().Delete(s.t.Context(), second, metav1.DeleteOptions{}); err != nil {
			s.t.Logf("delete namespace %s: %v", second, err)
		}
	})
	return second
}

func TestDeploy(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newBareShop(t, c)
	cfg := c.Config()
	second := s.elsewhere(c)
	client := devtest.Client(t, cfg)

	_, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "kubectl pharos deploy") {
		t.Errorf("a target that was never prepared: %v", err)
	}
	dry, err := s.lifecycle(cfg).Deploy(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: lifecycle.DryRunServer})
	if err != nil || len(dry.Steps) != 2 || dry.Steps[0].Changes[0].Type == "" {
		t.Errorf("a dry run: %+v, %v", dry.Steps, err)
	}
	var foreseen []string
	for _, change := range dry.Changes { // also where the namespace is yet to be made
		foreseen = append(foreseen, string(change.Type)+" "+lifecycle.ObjectName(change.Object))
	}
	slices.Sort(foreseen)
	if want := []string{"created ConfigMap " + second + "/settings", "created ConfigMap " + s.namespace + "/settings",
		"created Deployment " + s.namespace + "/api", "created Deployment " + s.namespace + "/mail"}; !slices.Equal(foreseen, want) {
		t.Errorf("a dry run of a fresh target foresees %q, want %q", foreseen, want)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), second, metav1.GetOptions{}); err == nil || s.checkpoint(cfg).Version != "" {
		t.Errorf("a dry run prepared something: %v", err)
	}

	first := s.deploy(cfg)
	at := s.checkpoint(cfg)
	if !at.Complete || len(at.Steps) != 2 || at.Repository != s.git("rev-list", "--max-parents=0", "HEAD") {
		t.Errorf("the checkpoint is %+v", at)
	}
	ns, err := client.CoreV1().Namespaces().Get(t.Context(), second, metav1.GetOptions{})
	if err != nil || ns.Labels["app.kubernetes.io/managed-by"] != "pharos" || !strings.Contains(ns.Annotations["argocd.argoproj.io/sync-options"], "Prune=false") {
		t.Errorf("the second namespace is %v, %v", ns, err)
	}
	if st := s.status(cfg); !st.IsLive() || st.Live.ID != first.Receipt {
		t.Errorf("after the deploy: %+v", st)
	}

	again := s.deploy(cfg)
	for _, step := range again.Steps {
		for _, change := range step.Changes {
			if change.Type != lifecycle.ChangeUnchanged {
				t.Errorf("a second deploy %s %s", change.Type, lifecycle.ObjectName(change.Object))
			}
		}
	}
	if now := s.checkpoint(cfg); again.Plan.Decision != lifecycle.DecideUnchanged || now.Version != at.Version {
		t.Errorf("a second deploy decides %s and writes %+v", again.Plan.Decision, now)
	}
	if again := s.reconcile(cfg); again.Plan.Decision != lifecycle.DecideUnchanged {
		t.Errorf("a reconcile afterwards: %s", again.Plan.Decision)
	}

	// What somebody deleted of it is made again.
	if err := client.RbacV1().Roles(second).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	created := 0
	for _, change := range s.deploy(cfg).Steps[1].Changes {
		if change.Type == lifecycle.ChangeCreated {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d objects were created again, want 1", created)
	}
}

// Another repository may not have a target that was prepared for this one.
func TestDeployBindsTheTarget(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newBareShop(t, c)
	cfg := c.Config()
	s.prepared(cfg, s.target(), s.git("rev-parse", "HEAD"))
	other := newBareShop(t, c)
	other.write(map[string]string{"pharos.yaml": s.git("show", "HEAD:pharos.yaml") + "\n"})
	other.commit("Take the target over")
	_, err := other.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: other.head(), Repository: other.repository()})
	if !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "another repository") {
		t.Errorf("another repository: %v", err)
	}
	s.reconcile(cfg)
}

// All that a delivery needs and that is not there is said at once.
func TestDeployChecks(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newBareShop(t, c)
	s.write(map[string]string{"pharos.yaml": strings.ReplaceAll(s.git("show", "HEAD:pharos.yaml"), s.registry, "127.0.0.1:1") +
		"\n  git: {url: \"http://127.0.0.1:2/shop.git\"}\n"})
	s.commit("Use servers that are not there")
	_, err := s.lifecycle(c.Config()).Deploy(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "127.0.0.1:1/") || !strings.Contains(err.Error(), "http://127.0.0.1:2/shop.git") {
		t.Errorf("servers that are not there: %v", err)
	}
	if at := s.checkpoint(c.Config()); at.Version != "" {
		t.Errorf("something was prepared: %+v", at)
	}
}

// A deploy that is killed after each of its steps goes on where it ended.
func TestDeployKilledAt(t *testing.T) {
	t.Parallel()
	for _, k := range []killed{
		{At: lifecycle.EventStarted},
		{At: lifecycle.EventLeaseAcquired},
		{At: lifecycle.EventStepPrepared, Nth: 1},
		{At: lifecycle.EventStepPrepared, Nth: 2},
		{At: lifecycle.EventPrepared},
		{At: lifecycle.EventPlanned},
		{At: lifecycle.EventAppliedMoved},
	} {
		t.Run(string(k.At)+strconv.Itoa(k.Nth), func(t *testing.T) {
			t.Parallel()
			c := devtest.Cluster(t)
			s := newBareShop(t, c)
			k.Deploy = true
			s.dieIn(c, k)
			l := s.lifecycle(c.Config())
			res, err := l.Deploy(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Wait: patience})
			if err != nil {
				t.Fatalf("run again after SIGKILL at %s: %v", k.At, err)
			}
			if st := s.status(c.Config()); !st.IsLive() || st.Live.ID != res.Receipt || !s.checkpoint(c.Config()).Complete {
				t.Errorf("after the second run: %+v", st)
			}
			if first := res.Steps[0]; first.Skipped != (k.At == lifecycle.EventStepPrepared) {
				t.Errorf("the first step came to %+v", first)
			}
		})
	}
}

// TestRightsOfDeliveries delivers as the account that deploy made, and wants each
// right of it to be used and none to be missing.
func TestRightsOfDeliveries(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newBareShop(t, c)
	s.deploy(c.Config())
	account := "pharos-" + s.namespace + "-deliver"
	config := tokenOf(t, c, s.namespace, account)
	audit := devtest.RecordAudit(t, c)

	s.reconcile(config)
	s.currency("NOK")
	s.reconcile(config)
	s.rollback(config, "")
	if st := s.status(config); !st.IsLive() {
		t.Errorf("status %+v", st.Observation)
	}
	used := 0
	for _, e := range audit.Events(t, devtest.ByUser("system:serviceaccount:"+s.namespace+":"+account)) {
		if used++; e.Code == 403 {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
	}
	if used == 0 {
		t.Error("nothing was done as the account")
	}
}

// TestRightsOfDeliveriesThroughArgoCD is the same where Argo CD writes the objects.
func TestRightsOfDeliveriesThroughArgoCD(t *testing.T) {
	t.Parallel()
	a := devtest.ArgoCD(t)
	c := a.Cluster()
	s := newBareShop(t, c)
	url := a.GitURL() + "/" + s.namespace + ".git"
	s.git("push", "-q", url, "HEAD:refs/heads/main")
	s.write(map[string]string{"pharos.yaml": s.git("show", "HEAD:pharos.yaml") + "\n  git: {url: \"" + url + "\"}\n" +
		"  deliver: {argocd: {namespace: " + a.Namespace() + ", root: " + s.namespace + "}}\n"})
	s.commit("Deliver through Argo CD")
	s.deploy(c.Config())
	account := "pharos-" + s.namespace + "-deliver"
	config := tokenOf(t, c, s.namespace, account)
	audit := devtest.RecordAudit(t, c)

	if res := s.reconcile(config); res.Plan.Decision != lifecycle.DecideUnchanged {
		t.Errorf("a second delivery: %s: %s", res.Plan.Decision, strings.Join(res.Plan.Reasons, "; "))
	}
	s.currency("NOK")
	s.reconcile(config)
	s.sells(c.Config(), "NOK")
	back := s.rollback(config, "")
	s.sells(c.Config(), "EUR")
	if st := s.status(config); !st.IsLive() || st.Live.ID != back.Receipt || len(st.Observation.Applications) != 1 {
		t.Errorf("status %+v", st.Observation)
	}
	for _, e := range audit.Events(t, devtest.ByUser("system:serviceaccount:"+s.namespace+":"+account)) {
		if e.Code == 403 {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
	}
}

// tokenOf is the cluster as an account of it.
func tokenOf(t *testing.T, c *devenv.Cluster, namespace, account string) *rest.Config {
	t.Helper()
	token, err := devtest.Client(t, c.Config()).CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.Config())
	config.BearerToken, config.QPS = token.Status.Token, -1
	return config
}

// What earlier versions delivered to needs no preparation.
func TestReconcileOfEarlierVersions(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	s.reconcile(cfg)
	maps := devtest.Client(t, cfg).CoreV1().ConfigMaps(s.namespace)
	if err := maps.Delete(t.Context(), "pharos-"+s.namespace+".deploy", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.currency("NOK")
	s.reconcile(cfg)
	if res := s.deploy(cfg); res.Plan.Decision != lifecycle.DecideUnchanged || !s.checkpoint(cfg).Complete {
		t.Errorf("a deploy of it: %+v", res)
	}
}
