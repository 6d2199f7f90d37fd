package argocd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// fails delivers a commit and wants an error of a class that says something.
func (s *shop) fails(class error, d *delivered, timeout time.Duration, says ...string) error {
	s.t.Helper()
	err := s.wait(s.t.Context(), d, timeout)
	if !errors.Is(err, class) {
		s.t.Fatalf("got %v, want %v", err, class)
	}
	mustContain(s.t, err.Error(), says...)
	return err
}

// errEnough ends a wait whose reason was seen.
var errEnough = errors.New("seen enough")

// failsSaying waits for a commit until the reasons of what is not ready say
// something, or the wait ends by itself. It wants an error of a class that says it.
func (s *shop) failsSaying(class error, d *delivered, says string) error {
	s.t.Helper()
	ctx, cancel := context.WithCancelCause(s.t.Context())
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, patience, errors.New("the test has lost its patience"))
	defer stop()
	r := d.observe()
	r.Seen, r.Applications, r.Guard = d.result.Seen, d.result.Applications, d.request.Guard
	r.Progress = func(o lifecycle.Observation) {
		for _, u := range o.Unready {
			if strings.Contains(u.Reason, says) {
				cancel(errEnough)
			}
		}
	}
	var err error
	d.seen, err = s.deliverer().Wait(ctx, r)
	if !errors.Is(err, class) {
		s.t.Fatalf("got %v, want %v\n%s", err, class, s.dump())
	}
	mustContain(s.t, err.Error(), says)
	return err
}

func (s *shop) mustPoint(files map[string]string) *delivered {
	s.t.Helper()
	d, err := s.point(s.t.Context(), s.commit(files))
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// An object that the API server refuses fails the sync, by name and with the
// server's words; a later commit is delivered on top of it, and so is the same
// one once it can be.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	const once = "{automated: {selfHeal: true}, retry: {limit: 0}}"
	s.root(once)
	files := s.appOfApps(once, "api")
	files["api/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, account.yaml]\n"
	files["api/account.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: broken}\nspec: {ports: [{port: 99999}]}\n"
	d := s.mustPoint(files)
	err := s.fails(lifecycle.ErrUnhealthy, d, patience, "Application argocd/"+s.child("api"), "phase Sync", "Service "+s.name+"/broken", "99999")
	var unhealthy *lifecycle.UnhealthyError
	if !errors.As(err, &unhealthy) || !unhealthy.Unready[0].Failed || unhealthy.Unready[1].Object.Kind != "Service" {
		t.Errorf("not ready: %+v", unhealthy)
	}
	if len(d.seen.Applications) != 2 || !strings.Contains(names(d.seen.Applications), "OutOfSync") {
		t.Errorf("saw %s", names(d.seen.Applications))
	}
	delete(files, "api/account.yaml")
	files["api/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml]\n"
	s.deliver(s.commit(files))
	s.runs("api", ref("api", 1))
}

// What failed once is synced again when it is delivered again, although the
// controller would leave it alone.
func TestSameCommitAfterAFailure(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root("{automated: {selfHeal: true}, retry: {limit: 0}}")
	files := s.single("")
	files["root/kustomization.yaml"] = "resources: [api.yaml, other.yaml]\n"
	files["root/api.yaml"] = strings.Replace(workload("api", ""), "{name: api}", "{name: api, namespace: "+s.name+"}", 1)
	files["root/other.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, namespace: " + s.name + "-late}\n"
	d := s.mustPoint(files)
	s.fails(lifecycle.ErrUnhealthy, d, patience, "ConfigMap "+s.name+"-late/late", "not found")
	ns := yamlObject(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+s.name+"-late}\n")
	client := devtest.Client(t, s.config)
	if err := client.CoreV1().RESTClient().Post().Resource("namespaces").Body(jsonOf(t, ns)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Namespaces().Delete(context.Background(), s.name+"-late", metav1.DeleteOptions{})
	})
	repo := d.request.Commit
	again := s.deliver(s.at(string(repo)))
	if again.request.Commit != repo {
		t.Errorf("delivered %s", again.request.Commit)
	}
}

// An operation that failed, and that the controller goes on trying, does not keep
// a later commit waiting.
func TestCommitOnTopOfRetries(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.operationWait = time.Nanosecond
	const tireless = "{automated: {selfHeal: true}, retry: {limit: 10, backoff: {duration: 5m}}}"
	s.root(tireless)
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, broken.yaml]\n"
	files["root/broken.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: broken}\nspec: {ports: [{port: 99999}]}\n"
	d := s.mustPoint(files)
	s.fails(lifecycle.ErrUnhealthy, d, patience, "tried again in vain", "Service "+s.name+"/broken", "99999")
	// It is no obstacle, neither really nor when it is only looked at.
	dry := d.request
	dry.Guard, dry.DryRun = nil, true
	if _, err := s.deliverer().Deliver(t.Context(), dry); !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), "99999") {
		t.Errorf("a dry run: %v", err)
	}
	if err := s.deliverer().Examine(t.Context(), d.request); err != nil {
		t.Errorf("examined: %v", err)
	}
	s.deliver(s.commit(s.single("")))
	s.runs("api", ref("api", 1))
}

// A kind that the AppProject does not allow ends the delivery at once, by name,
// with what to do, although Argo CD goes on trying: where it was not known before,
// as we may not read its settings.
func TestNotPermittedInProject(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.project(`[]
  namespaceResourceWhitelist: [{group: apps, kind: Deployment}]`)
	s.root("{automated: {selfHeal: true}, retry: {limit: 10, backoff: {duration: 5m}}}")
	s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, account.yaml]\n"
	files["root/account.yaml"] = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: helper}\n"
	s.config, _ = devtest.User(t, s.argo.Cluster(), s.argo.Namespace(), devtest.Rights{Namespaced: withoutSettings(documented(t))})
	d := s.mustPoint(files)
	err := s.fails(lifecycle.ErrUnhealthy, d, patience, "ServiceAccount", "helper", "is not permitted in project "+s.name, "kubectl pharos deploy")
	if strings.Contains(err.Error(), "not within") {
		t.Errorf("it waited to the end: %v", err)
	}
}

// A hook is part of the commit, and no orphan: neither at the first delivery nor
// later, nor when it is only looked at.
func TestHookIsNoOrphan(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, migrate.yaml]\n"
	files["root/migrate.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}}\n"
	d := s.deliver(s.commit(files))
	if len(d.seen.Orphans) != 0 {
		t.Errorf("orphans %+v", d.seen.Orphans)
	}
	o, err := s.deliverer().Observe(t.Context(), d.observe())
	if err != nil || len(o.Orphans) != 0 || len(o.Drifted) != 0 {
		t.Errorf("observed %+v, %v", o, err)
	}
	r := d.observe()
	r.Earlier = r.Objects
	r.Objects = slices.DeleteFunc(slices.Clone(r.Objects), func(o receipt.Object) bool { return o.Name == "migrate" })
	if o, err = s.deliverer().Observe(t.Context(), r); err != nil || len(o.Orphans) != 1 {
		t.Errorf("without it, observed %+v, %v", o, err)
	}
}

// A commit that the Git server does not have.
func TestCommitThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	s.deliver(s.commit(s.single("")))
	d, err := s.point(t.Context(), s.unpublished(map[string]string{"README.md": "not published\n"}))
	if err != nil {
		t.Fatal(err)
	}
	s.fails(lifecycle.ErrUnreachable, d, patience, "does not give Argo CD the commit", "spec.git.url")
	s.runs("api", ref("api", 1))
}

// Somebody else writes the Application in the middle of a delivery.
func TestEditedInTheMiddle(t *testing.T) {
	t.Parallel()
	argo := devtest.ArgoCD(t)
	t.Run("root", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.root(automated)
		d := s.mustPoint(s.single(""))
		s.patch(s.name, "kubectl-edit", "spec: {source: {targetRevision: main}}")
		s.fails(lifecycle.ErrBlocked, d, patience, "was reverted", `targetRevision is "main"`, `"kubectl-edit"`)
	})
	t.Run("child", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.root(manual) // it does not heal by itself
		d := s.deliver(s.commit(s.appOfApps(automated, "api")))
		s.patch(s.child("api"), "kubectl-edit", "spec: {source: {targetRevision: main}}")
		if err := s.wait(t.Context(), d, patience); err != nil {
			t.Fatal(err)
		}
		if got := s.revision(s.child("api")); got != string(d.request.Commit) {
			t.Errorf("it is at %s", got)
		}
	})
}

// What does not become healthy in time is said object by object, in the words of
// the scheduler.
func TestNeverHealthy(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	d := s.mustPoint(s.single("      nodeSelector: {no: such-node}\n"))
	err := s.failsSaying(lifecycle.ErrUnhealthy, d, "0/1 nodes are available")
	mustContain(t, err.Error(), "Application argocd/"+s.name+": it is Progressing", "Deployment "+s.name+"/api", errEnough.Error())
}

// Observe is the proof that nothing has to be done: with one request for each
// Application, and none that writes.
func TestObserve(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(manual)
	d := s.deliver(s.commit(s.appOfApps(manual, "api", "web")))
	config, user := devtest.User(t, s.argo.Cluster(), s.argo.Namespace(), devtest.Rights{Namespaced: documented(t)})
	s.config = config
	audit := devtest.RecordAudit(t, s.argo.Cluster())
	o, err := s.deliverer().Observe(t.Context(), d.observe())
	if err != nil || !o.Healthy() || len(o.Drifted) != 0 || len(o.Applications) != 3 {
		t.Fatalf("saw %+v, %v", o, err)
	}
	events := audit.Events(t, devtest.ByUser(user))
	if len(events) != 3 {
		t.Errorf("%d requests for 3 Applications: %+v", len(events), events)
	}
	for _, e := range events {
		if e.Verb != "get" {
			t.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
	// Somebody edits what is delivered, and one Application.
	s.config = s.argo.Cluster().Config()
	scale := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"api","image":"other"}]}}}}`)
	if _, err := devtest.Client(t, s.config).AppsV1().Deployments(s.name).Patch(t.Context(), "api", types.StrategicMergePatchType, scale, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.await(s.child("api"), "status.sync.status", "OutOfSync")
	s.patch(s.child("web"), "kubectl-edit", "spec: {source: {targetRevision: main}}")
	o, err = s.deliverer().Observe(t.Context(), d.observe())
	if err != nil {
		t.Fatal(err)
	}
	var drift []string
	for _, x := range o.Drifted {
		drift = append(drift, lifecycle.ObjectName(x.Object)+": "+x.Reason)
	}
	mustContain(t, strings.Join(drift, "\n"), "Deployment "+s.name+"/api: it differs from the commit", s.child("web")+`: its targetRevision is "main"`, "kubectl-edit")
}

// What a commit declares no more, and is not healthy, does not make the target
// unhealthy, as a look tells too; what it declares does.
func TestObserveLeftovers(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, web.yaml]\n"
	files["root/web.yaml"] = workload("web", "")
	s.deliver(s.commit(files))
	d := s.deliver(s.commit(s.single("")))
	stuck := []byte(`{"spec":{"template":{"spec":{"nodeSelector":{"no":"such-node"}}}}}`)
	deployments := devtest.Client(t, s.config).AppsV1().Deployments(s.name)
	if _, err := deployments.Patch(t.Context(), "web", types.StrategicMergePatchType, stuck, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.await(s.name, "status.health.status", "Progressing")
	o, err := s.deliverer().Observe(t.Context(), d.observe())
	if err != nil || !o.Healthy() || len(o.Orphans) != 1 {
		t.Errorf("saw %+v, %v", o, err)
	}
	if _, err := deployments.Patch(t.Context(), "api", types.StrategicMergePatchType, stuck, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	// Argo CD has no say in a field that no commit declares.
	s.unready(d, "Deployment "+s.name+"/api", "0/1 nodes are available")
}

// unready looks until what is not ready says something.
func (s *shop) unready(d *delivered, says ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	last := ""
	for ctx.Err() == nil {
		o, err := s.deliverer().Observe(ctx, d.observe())
		if err != nil {
			s.t.Fatal(err)
		}
		last = ""
		for _, u := range o.Unready {
			last += lifecycle.ObjectName(u.Object) + ": " + u.Reason + "\n"
		}
		all := true
		for _, text := range says {
			all = all && strings.Contains(last, text)
		}
		if all {
			return
		}
	}
	s.t.Errorf("not ready is %s, want %q", last, says)
}
