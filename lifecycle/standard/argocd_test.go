package standard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// argoShop is a shop that Argo CD delivers: a root that declares an Application
// for each service.
type argoShop struct {
	*shop
	argo *devenv.ArgoCD
	apps dynamic.ResourceInterface
}

func newArgoShop(t *testing.T, a *devenv.ArgoCD) *argoShop {
	t.Helper()
	client, err := dynamic.NewForConfig(a.Cluster().Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &argoShop{shop: newBareShop(t, a.Cluster()), argo: a,
		apps: client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).Namespace(a.Namespace())}
	url := a.GitURL() + "/" + s.namespace + ".git"
	files := map[string]string{
		"gitops/kustomization.yaml": "resources: [apps.yaml]\n",
		"gitops/apps.yaml":          s.application("api", url) + "---\n" + s.application("mail", url),
	}
	for _, name := range []string{"api", "mail"} {
		files["gitops/"+name+"/kustomization.yaml"] = "namespace: " + s.namespace + "\nresources: [" + name + ".yaml]\n"
		files["gitops/"+name+"/"+name+".yaml"] = deployment(name, "")
	}
	files["gitops/api/kustomization.yaml"] = "namespace: " + s.namespace + "\nresources: [api.yaml, settings.yaml]\n"
	files["gitops/api/settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: EUR}\n"
	catalogue := s.git("show", "HEAD:pharos.yaml") + fmt.Sprintf("\n  deliver: {argocd: {namespace: %s, root: %s}}\n  git: {url: %q}\n", a.Namespace(), s.namespace, url)
	files["pharos.yaml"] = catalogue
	s.git("rm", "-q", "gitops/api.yaml", "gitops/mail.yaml", "gitops/settings.yaml")
	s.write(files)
	s.git("push", "-q", url, "HEAD:refs/first/shop") // the server makes the repository
	s.commit("Have Argo CD deliver")
	t.Cleanup(func() {
		for _, name := range []string{s.namespace, s.child("api"), s.child("mail")} {
			_ = s.apps.Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
	return s
}

func (s *argoShop) child(name string) string { return s.namespace + "-" + name }

func (s *argoShop) application(name, url string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  source: {repoURL: %q, targetRevision: main, path: gitops/%s}
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  syncPolicy: {automated: {selfHeal: true}}
`, s.child(name), s.argo.Namespace(), url, name, s.namespace)
}

// live wants HEAD to be live by every Application.
func (s *argoShop) live() lifecycle.Status {
	s.t.Helper()
	st := s.status(s.argo.Cluster().Config())
	head := s.git("rev-parse", "HEAD")
	if !st.IsLive() || st.Live.Record.Commit != head {
		s.t.Fatalf("not live: %+v", st)
	}
	if len(st.Observation.Applications) != 3 {
		s.t.Errorf("saw %+v", st.Observation.Applications)
	}
	for _, a := range st.Observation.Applications {
		if a.Revisions[0] != head || a.Sync != "Synced" || a.Health != "Healthy" {
			s.t.Errorf("saw %+v", a)
		}
	}
	return st
}

// From a deploy on, through a change and a neutral commit, to a rollback.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	cfg := s.argo.Cluster().Config()
	deployed := s.deploy(cfg)
	st := s.live()
	root, err := s.apps.Get(t.Context(), s.namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if project, _, _ := unstructured.NestedString(root.Object, "spec", "project"); project != "pharos-"+s.namespace {
		t.Errorf("the root is of the project %q", project)
	}
	rec := st.Live.Record
	kinds := map[string]int{}
	for _, o := range rec.Objects {
		kinds[o.Kind]++
	}
	if kinds["Application"] != 3 || kinds["Deployment"] != 2 || rec.Renderer.Name != "kustomize+argocd" {
		t.Errorf("the receipt names %v by %v", kinds, rec.Renderer)
	}
	for _, a := range st.Observation.Applications {
		if name, ok := strings.CutPrefix(a.Name, s.namespace+"-"); ok && (len(a.Images) != 1 || !strings.HasPrefix(a.Images[0], s.registry+"/shop/"+name+"@sha256:")) {
			t.Errorf("%s runs %v", a.Name, a.Images)
		}
	}
	// The commit stands under no branch of the Git server.
	if refs := s.git("ls-remote", s.target().Git.URL); !strings.Contains(refs, "refs/pharos/receipts/") || strings.Contains(refs, "refs/heads/") {
		t.Errorf("the server has %s", refs)
	}

	same, err := s.lifecycle(cfg).Diff(t.Context(), lifecycle.DiffRequest{Commit: s.head()})
	if err != nil || len(same.Changes) != 0 {
		t.Errorf("a diff to what is live: %+v, %v", same.Changes, err)
	}
	s.write(map[string]string{"libs/price/p.go": "package price\n\nfunc Of(n int) int { return n * 5 }\n"})
	s.commit("Raise the prices")
	diff, err := s.lifecycle(cfg).Diff(t.Context(), lifecycle.DiffRequest{Commit: s.head()})
	if err != nil {
		t.Fatal(err)
	}
	differ := map[string]bool{}
	for _, c := range diff.Changes {
		differ[lifecycle.ObjectName(c.Object)] = true
	}
	if len(differ) != 4 || !differ["Deployment "+s.namespace+"/api"] || differ["Deployment "+s.namespace+"/mail"] {
		t.Errorf("a diff to a new price: %v", differ)
	}
	raised := s.reconcile(cfg)
	if raised.Plan.Decision != lifecycle.DecideBuild {
		t.Errorf("decided %s", raised.Plan.Decision)
	}
	s.live()

	rolled, err := s.lifecycle(cfg).Rollback(t.Context(), lifecycle.RollbackRequest{Receipt: deployed.Receipt, Repository: s.repository()})
	if err != nil {
		t.Fatal(err)
	}
	st = s.status(cfg)
	if !st.IsLive() || st.Live.ID != rolled.Receipt || st.Live.Record.Commit != rec.Commit {
		t.Errorf("after the rollback: %+v", st)
	}
	store, err := s.receipts(cfg)
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := store.Outcomes(t.Context(), rolled.Receipt)
	if err != nil {
		t.Fatal(err)
	}
	if last := outcomes[len(outcomes)-1]; last.Type != receipt.OutcomeLive || len(last.Applications) != 3 || last.Applications[0].Name != s.namespace {
		t.Errorf("the last outcome is %+v", last)
	}
}

// A commit that reaches no manifest takes five requests and two for each
// Application at most, and none that writes.
func TestArgoCDNeutralCommit(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	s.deploy(s.argo.Cluster().Config())
	s.write(map[string]string{"README.md": "# The shop\n"})
	s.commit("Write more")
	cfg := s.argo.Cluster().Config()
	cfg.UserAgent = "neutral-" + s.namespace
	audit := devtest.RecordAudit(t, s.argo.Cluster())
	res := s.reconcile(cfg)
	if res.Plan.Decision != lifecycle.DecideUnchanged {
		t.Fatalf("decided %s: %v", res.Plan.Decision, res.Plan.Reasons)
	}
	n := 0
	for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool { return e.UserAgent == cfg.UserAgent }) {
		n++
		if e.Verb != "get" && e.Verb != "list" {
			t.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
	if n == 0 || n > 5+2*3 {
		t.Errorf("%d requests", n)
	}
}

// Of two deliveries at once one wins after the other, and both are told.
func TestArgoCDTwoAtOnce(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	cfg := s.argo.Cluster().Config()
	s.deploy(cfg)
	s.write(map[string]string{"gitops/api/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: NOK}\n"})
	s.commit("Change the currency")
	commit, repo := s.head(), s.repository()
	done := make(chan error, 2)
	for range 2 {
		l := s.lifecycle(cfg)
		go func() {
			_, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: commit, Repository: repo, Wait: patience})
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	s.live()
	store, err := s.receipts(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := store.List(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("the receipts are %+v, %v", list, err)
	}
}

// A delivery that is killed with SIGKILL at any event is finished by the next one.
func TestArgoCDKilledAt(t *testing.T) {
	a := devtest.ArgoCD(t)
	for _, at := range lifecycle.EventTypes() {
		switch at {
		case lifecycle.EventStepPrepared, lifecycle.EventPrepared, lifecycle.EventLeaseAwaited, lifecycle.EventImageBuilding, lifecycle.EventImageBuilt, lifecycle.EventGateOpened:
			continue // not of this delivery, or before anything of Argo CD
		}
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			s := newArgoShop(t, a)
			cfg := a.Cluster().Config()
			first := s.deploy(cfg)
			s.write(map[string]string{"gitops/api/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: NOK}\n"})
			s.commit("Change the currency")
			s.dieIn(a.Cluster(), killed{At: at})
			res, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Wait: patience})
			if err != nil {
				t.Fatalf("run again after SIGKILL at %s: %v", at, err)
			}
			st := s.live()
			if st.Live.ID != res.Receipt || st.Live.Record.Parent != first.Receipt || st.Lease.Held {
				t.Errorf("after the second run: %+v", st)
			}
		})
	}
}

// Applications side by side are not made by Pharos. Where they are missing, or
// have other folders, nothing is prepared or recorded, and a dry run says the
// same.
func TestArgoCDMissingApplications(t *testing.T) {
	t.Parallel()
	s := newArgoShop(t, devtest.ArgoCD(t))
	cfg := s.argo.Cluster().Config()
	s.write(map[string]string{"pharos.yaml": strings.Replace(s.git("show", "HEAD:pharos.yaml")+"\n", "root: "+s.namespace,
		fmt.Sprintf("applications: [{name: %s, path: gitops/api}, {name: %s, path: gitops/mail}]", s.child("api"), s.child("mail")), 1)})
	s.commit("Deliver side by side")
	refused := func(class error, says string) {
		t.Helper()
		for _, dry := range []lifecycle.DryRun{lifecycle.DryRunServer, lifecycle.DryRunNone} {
			res, err := s.lifecycle(cfg).Deploy(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: dry})
			if !errors.Is(err, class) || strings.Count(err.Error(), says) != 2 {
				t.Errorf("dry run %q: %v", dry, err)
			}
			if dry == lifecycle.DryRunNone && len(res.Steps) > 0 {
				t.Errorf("it prepared %+v", res.Steps)
			}
			s.nothingRecorded(cfg)
			if at := s.checkpoint(cfg); at.Version != "" {
				t.Errorf("checkpoint %+v", at)
			}
		}
	}
	refused(lifecycle.ErrBlocked, "does not exist")
	for _, name := range []string{"api", "mail"} {
		var app unstructured.Unstructured
		doc := strings.Replace(s.application(name, s.target().Git.URL), "gitops/", "elsewhere/", 1)
		if err := yaml.Unmarshal([]byte(doc), &app.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := s.apps.Create(t.Context(), &app, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	refused(lifecycle.ErrSource, "has the folder elsewhere/")
}

// What was edited under a maintenance keeps it on, although Argo CD has not looked
// yet, until it has healed it.
func TestArgoCDMaintenanceSeesEdits(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{})
	s := newArgoShop(t, devtest.OwnArgoCD(t, c))
	cfg := c.Config()
	s.deploy(cfg)
	l := s.lifecycle(cfg)
	holder := s.maintain(l)
	settings := devtest.Client(t, cfg).CoreV1().ConfigMaps(s.namespace)
	if err := s.argo.StopController(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"currency":"USD"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	// Nobody tells yet that it is not live any more.
	if _, err := l.EndMaintenance(t.Context(), lifecycle.EndMaintenanceRequest{Holder: holder, DryRun: true}); err != nil {
		t.Errorf("by what Argo CD said last: %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := l.EndMaintenance(t.Context(), lifecycle.EndMaintenanceRequest{Holder: holder, Timeout: 10 * time.Minute})
		if err == nil {
			m, getErr := settings.Get(t.Context(), "settings", metav1.GetOptions{})
			if getErr != nil || m.Data["currency"] != "EUR" {
				err = fmt.Errorf("it ended with %v, %v", m.Data, getErr)
			}
		}
		ended <- err
	}()
	s.refreshAsked()
	select {
	case err := <-ended:
		t.Fatalf("it ended before Argo CD had looked: %v", err)
	default:
	}
	if err := s.argo.StartController(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.live()
}

// refreshAsked waits until every Application has been asked to be looked at.
func (s *argoShop) refreshAsked() {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, name := range []string{s.namespace, s.child("api"), s.child("mail")} {
			app, err := s.apps.Get(ctx, name, metav1.GetOptions{})
			if err != nil || app.GetAnnotations()["argocd.argoproj.io/refresh"] == "" {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
