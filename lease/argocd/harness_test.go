package argocd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
)

// patience is for what happens within seconds on an idle machine.
const patience = 3 * time.Minute

// Policies of Applications.
const (
	healing = "{automated: {selfHeal: true}}"
	stale   = "{automated: {}}" // without self-heal
	manual  = "{}"
)

// world is a target whose Applications a real Argo CD delivers: each has a folder
// of its name with a ConfigMap of its name, whose value is what Git declares. The
// repository, the namespace and the projects are the test's own.
type world struct {
	t        testing.TB
	argo     *devenv.ArgoCD
	config   *rest.Config
	name     string // of the namespace, and of the first project
	dir, url string
	apps     dynamic.ResourceInterface
	projects dynamic.ResourceInterface
	sets     dynamic.ResourceInterface
	appsIn   func(namespace string) dynamic.ResourceInterface
	kube     kubernetes.Interface
	covers   []string // the target's Applications
}

func newWorld(t testing.TB, a *devenv.ArgoCD) *world {
	t.Helper()
	c := a.Cluster()
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	resource := func(name string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: name}).Namespace(a.Namespace())
	}
	w := &world{t: t, argo: a, config: c.Config(), name: devtest.Namespace(t, c), dir: t.TempDir(), kube: devtest.Client(t, c.Config()),
		apps: resource("applications"), projects: resource("appprojects"), sets: resource("applicationsets"),
		appsIn: func(namespace string) dynamic.ResourceInterface {
			return client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).Namespace(namespace)
		}}
	w.url = a.GitURL() + "/" + w.name + ".git"
	w.git("init", "-q", "-b", "main")
	return w
}

// healed is a world with a project and Applications of a policy, all of which are
// in sync.
func healed(t testing.TB, policy string, folders ...string) *world {
	t.Helper()
	w := newWorld(t, devtest.ArgoCD(t))
	w.project(w.name, "")
	for _, f := range folders {
		w.folder(f, "declared")
	}
	w.push()
	for _, f := range folders {
		w.app(f, w.name, policy)
	}
	for _, f := range folders {
		w.synced(f)
	}
	return w
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.dir, "-c", "user.name=Shop", "-c", "user.email=shop@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// folder writes the folder of an Application.
func (w *world) folder(name, value string) {
	w.t.Helper()
	w.write(name+"/config.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: %s}\n", name, value))
}

// push commits what was written to the branch main, and returns the commit.
func (w *world) push() string {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", "change")
	w.git("push", "-q", w.url, "main:main")
	return w.git("rev-parse", "HEAD")
}

// named is the name of the Application of a folder.
func (w *world) named(folder string) string { return w.name + "-" + folder }

func (w *world) create(in dynamic.ResourceInterface, doc string) {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: object(w.t, doc)}
	if _, err := in.Create(w.t.Context(), o, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = in.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}) })
}

// project creates a project; more are lines of its spec.
func (w *world) project(name, more string) {
	w.t.Helper()
	w.create(w.projects, fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s, namespace: %s}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
%s`, name, w.argo.Namespace(), more))
}

// app creates the Application of a folder, which is one of the target's then.
func (w *world) app(folder, project, policy string) {
	w.t.Helper()
	w.create(w.apps, w.application(folder, project, policy))
	w.covers = append(w.covers, w.named(folder))
}

func (w *world) application(folder, project, policy string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %q, namespace: %q}
spec:
  project: %q
  source: {repoURL: %q, targetRevision: main, path: %q}
  destination: {server: "https://kubernetes.default.svc", namespace: %q}
  syncPolicy: %s
`, w.named(folder), w.argo.Namespace(), project, w.url, folder, w.name, policy)
}

// synced waits until an Application is what Git declares; a manual one is synced.
func (w *world) synced(folder string) {
	w.t.Helper()
	if a := w.get(folder); a.Object["operation"] == nil && field(a, "spec.syncPolicy.automated") == nil {
		w.patch(folder, `operation: {sync: {revision: main}, initiatedBy: {username: ann}}`)
	}
	w.await(folder, "synced", func(a *unstructured.Unstructured) bool {
		return text(a, "status.sync.status") == "Synced" && text(a, "status.operationState.phase") == "Succeeded" && a.Object["operation"] == nil
	})
}

func (w *world) get(folder string) *unstructured.Unstructured {
	w.t.Helper()
	a, err := w.apps.Get(w.t.Context(), w.named(folder), metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// patch merges into an Application.
func (w *world) patch(folder, doc string) {
	w.t.Helper()
	w.merge(w.apps, w.named(folder), doc)
}

func (w *world) merge(in dynamic.ResourceInterface, name, doc string) {
	w.t.Helper()
	if _, err := in.Patch(w.t.Context(), name, types.MergePatchType, jsonOf(w.t, object(w.t, doc)), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		w.t.Fatal(err)
	}
}

// await waits until an Application is as wanted.
func (w *world) await(folder, what string, is func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	watch, err := w.apps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + w.named(folder)})
	if err != nil {
		w.t.Fatal(err)
	}
	defer watch.Stop()
	var last *unstructured.Unstructured
	for e := range watch.ResultChan() {
		if a, ok := e.Object.(*unstructured.Unstructured); ok {
			if last = a; is(a) {
				return
			}
		}
	}
	w.t.Fatalf("%s is not %s after %s: %s", folder, what, patience, w.dump(last))
}

func (w *world) dump(a *unstructured.Unstructured) string {
	if a == nil {
		return "nothing"
	}
	data, _ := json.MarshalIndent(map[string]any{"spec": a.Object["spec"], "status": a.Object["status"], "operation": a.Object["operation"]}, "", " ")
	return string(data)
}

// compared waits until the controller has compared an Application anew.
func (w *world) compared(folder string) {
	w.t.Helper()
	w.patch(folder, `metadata: {annotations: {argocd.argoproj.io/refresh: normal}}`)
	w.await(folder, "compared", func(a *unstructured.Unstructured) bool { return a.GetAnnotations()["argocd.argoproj.io/refresh"] == "" })
}

// edit changes what is live, as a developer does.
func (w *world) edit(folder, value string) {
	w.t.Helper()
	data := jsonOf(w.t, map[string]any{"data": map[string]any{"value": value}})
	if _, err := w.kube.CoreV1().ConfigMaps(w.name).Patch(w.t.Context(), folder, types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// value is what is live.
func (w *world) value(folder string) string {
	w.t.Helper()
	c, err := w.kube.CoreV1().ConfigMaps(w.name).Get(w.t.Context(), folder, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Data["value"]
}

// becomes waits until that is live.
func (w *world) becomes(folder, value string) *corev1.ConfigMap {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	watch, err := w.kube.CoreV1().ConfigMaps(w.name).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + folder})
	if err != nil {
		w.t.Fatal(err)
	}
	defer watch.Stop()
	for e := range watch.ResultChan() {
		if c, ok := e.Object.(*corev1.ConfigMap); ok && c.Data["value"] == value {
			return c
		}
	}
	w.t.Fatalf("%s is %q after %s, want %q: %s", folder, w.value(folder), patience, value, w.dump(w.get(folder)))
	return nil
}

// stays wants an edit to be still there when Argo CD knows of it.
func (w *world) stays(folder, value string) {
	w.t.Helper()
	w.await(folder, "known to differ", func(a *unstructured.Unstructured) bool { return text(a, "status.sync.status") == "OutOfSync" })
	w.compared(folder)
	if got := w.value(folder); got != value {
		w.t.Errorf("%s is %q, want that it stays %q", folder, got, value)
	}
}

// gate is one of the target's.
func (w *world) gate() *argocd.Gate {
	w.t.Helper()
	return w.gateOf(func(context.Context) ([]string, error) { return w.covers, nil })
}

func (w *world) gateOf(applications func(context.Context) ([]string, error)) *argocd.Gate {
	w.t.Helper()
	g, err := argocd.New(argocd.Config{REST: w.config, Namespace: w.argo.Namespace(), Settle: patience, Applications: applications})
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// claim is one of the target's lease, by the API server's clock, which is this
// machine's. A window of it lasts for d from now on.
func (w *world) claim(d time.Duration, folders ...string) lease.Claim {
	now := time.Now().UTC().Truncate(time.Second)
	var names []string
	for _, f := range folders {
		names = append(names, w.named(f))
	}
	return claimOf(w.name, now, now.Add(d), names...)
}

func claimOf(namespace string, now, until time.Time, covers ...string) lease.Claim {
	return lease.Claim{Namespace: namespace, Name: "pharos-devbox", Target: "devbox", Holder: "HOLDER", Token: 1, User: "ann@laptop", Purpose: "try something",
		Covers: covers, Now: now, Until: until, Wait: patience}
}

// sweep is the claim of who sweeps after a time, when nobody has the lease.
func (w *world) sweep(at time.Time) lease.Claim {
	c := w.claim(0)
	c.Holder, c.Now, c.Until, c.Covers = "", at.Add(time.Second), time.Time{}, nil
	return c
}

func (w *world) close(c lease.Claim) {
	w.t.Helper()
	if err := w.gate().Close(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// open opens the gate, and wants nothing to be left.
func (w *world) open(c lease.Claim) lease.Report {
	w.t.Helper()
	c.Now = time.Now().UTC().Truncate(time.Second)
	r, err := w.gate().Open(w.t.Context(), c)
	if err != nil || len(r.Pending) != 0 {
		w.t.Fatalf("%+v, %v", r, err)
	}
	return r
}

// spec is a project's, as JSON.
func (w *world) spec(project string) string {
	w.t.Helper()
	p, err := w.projects.Get(w.t.Context(), project, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(jsonOf(w.t, p.Object["spec"]))
}

// windows are a project's, each as JSON.
func (w *world) windows(project string) []string {
	w.t.Helper()
	p, err := w.projects.Get(w.t.Context(), project, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return windowsOf(w.t, p)
}

// awaitProject waits until a project is as wanted.
func (w *world) awaitProject(name, what string, is func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	watch, err := w.projects.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		w.t.Fatal(err)
	}
	defer watch.Stop()
	for e := range watch.ResultChan() {
		if p, ok := e.Object.(*unstructured.Unstructured); ok && is(p) {
			return
		}
	}
	w.t.Fatalf("%s is not %s after %s: %s", name, what, patience, w.spec(name))
}

// windowsOf are a project's, each as JSON.
func windowsOf(t testing.TB, p *unstructured.Unstructured) []string {
	t.Helper()
	list, _, _ := unstructured.NestedSlice(p.Object, "spec", "syncWindows")
	var out []string
	for _, l := range list {
		out = append(out, string(jsonOf(t, l)))
	}
	return out
}

func object(t testing.TB, doc string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return o
}

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func field(a *unstructured.Unstructured, path string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(a.Object, strings.Split(path, ".")...)
	return v
}

func text(a *unstructured.Unstructured, path string) string {
	s, _ := field(a, path).(string)
	return s
}

func mustContain(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q lacks %q", text, p)
		}
	}
}
