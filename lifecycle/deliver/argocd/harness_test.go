package argocd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/lifecycle/deliver/argocd"
	"github.com/pharos-dev/pharos/lifecycle/render"
	"github.com/pharos-dev/pharos/receipt"
)

// patience is for what happens within seconds on an idle machine.
const patience = 5 * time.Minute

// registry is where images would be pulled from, if the node were a real one.
const registry = "registry.invalid/shop"

func digest(n int) lifecycle.Digest {
	return lifecycle.Digest("sha256:" + strings.Repeat(fmt.Sprint(n), 64))
}

// shop is a repository with a service, and an Argo CD that delivers it.
type shop struct {
	t    testing.TB
	argo *devenv.ArgoCD
	dir  string
	url  string
	// name is the root's, the target's, and the namespace's that it is
	// delivered to.
	name   string
	layout argocd.Layout
	config *rest.Config
	images []lifecycle.ImageRef
	token  int64
	// operationWait is how long operations may take that are in the way.
	operationWait time.Duration
	apps          dynamic.ResourceInterface
	objs          dynamic.Interface
}

func newShop(t testing.TB, a *devenv.ArgoCD) *shop {
	t.Helper()
	c := a.Cluster()
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, argo: a, dir: t.TempDir(), name: devtest.Namespace(t, c), config: c.Config(), objs: client, token: 1, operationWait: 2 * time.Second,
		apps:   client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).Namespace(a.Namespace()),
		images: []lifecycle.ImageRef{{Name: "api", Repository: registry + "/api", Digest: digest(1)}, {Name: "web", Repository: registry + "/web", Digest: digest(2)}},
	}
	s.url = a.GitURL() + "/" + s.name + ".git"
	s.layout = argocd.Layout{Namespace: a.Namespace(), Repository: s.url, Overlay: "root", Root: s.name}
	s.git("init", "-q", "-b", "main")
	return s
}

func (s *shop) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", s.dir, "-c", "user.name=Shop", "-c", "user.email=shop@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes the files, commits them, and publishes the commit under a ref of
// its own, and nowhere else.
func (s *shop) commit(files map[string]string) source.Commit {
	s.t.Helper()
	c := s.unpublished(files)
	s.git("push", "-q", s.url, string(c.ID)+":refs/pharos/receipts/"+string(c.ID))
	return c
}

func (s *shop) unpublished(files map[string]string) source.Commit {
	s.t.Helper()
	for name, content := range files {
		path := filepath.Join(s.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", "change")
	return s.at("HEAD")
}

// at is a commit of the repository.
func (s *shop) at(revision string) source.Commit {
	s.t.Helper()
	repo, err := source.Open(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := repo.Commit(s.t.Context(), s.git("rev-parse", revision))
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// workload is a Deployment of an image of that name; more goes into its pod's
// spec.
func workload(name, more string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: %[1]s, image: %[1]s}]
%[2]s`, name, more)
}

// folder is a kustomization of one service, in the target's namespace.
func (s *shop) folder(name string) map[string]string {
	return map[string]string{
		name + "/kustomization.yaml": "namespace: " + s.name + "\nresources: [" + name + ".yaml]\n",
		name + "/" + name + ".yaml":  workload(name, ""),
	}
}

// automated is a policy with self-heal and without pruning.
const automated = "{automated: {selfHeal: true}}"

// manual is no policy: an Application is synced when somebody asks for it.
const manual = ""

// application is an Application of a folder, as a person writes it.
func (s *shop) application(name, path, namespace, policy string) string {
	doc := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %q, namespace: %q}
spec:
  project: default
  source: {repoURL: %q, targetRevision: main, path: %q}
  destination: {server: "https://kubernetes.default.svc", namespace: %q}
`, name, s.argo.Namespace(), s.url, path, namespace)
	if policy != manual {
		doc += "  syncPolicy: " + policy + "\n"
	}
	return doc
}

// child is the name of the Application of a folder.
func (s *shop) child(folder string) string { return s.name + "-" + folder }

// appOfApps are the files of a root that declares an Application for each
// folder, and those folders.
func (s *shop) appOfApps(policy string, folders ...string) map[string]string {
	files := map[string]string{"root/kustomization.yaml": "resources: [apps.yaml]\n"}
	var apps []string
	for _, f := range folders {
		apps = append(apps, s.application(s.child(f), f, s.name, policy))
		for name, content := range s.folder(f) {
			files[name] = content
		}
	}
	files["root/apps.yaml"] = strings.Join(apps, "---\n")
	return files
}

// single are the files of a root that is one overlay without Applications.
func (s *shop) single(more string) map[string]string {
	return map[string]string{
		"root/kustomization.yaml": "namespace: " + s.name + "\nresources: [api.yaml]\n",
		"root/api.yaml":           workload("api", more),
	}
}

// create creates an object that is written as YAML.
func (s *shop) create(doc string) {
	s.t.Helper()
	app := s.parse(doc)
	if _, err := s.apps.Create(s.t.Context(), app, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.apps.Delete(context.Background(), app.GetName(), metav1.DeleteOptions{}) })
}

func (s *shop) parse(doc string) *unstructured.Unstructured {
	s.t.Helper()
	return &unstructured.Unstructured{Object: yamlObject(s.t, doc)}
}

// root creates the root Application of the target.
func (s *shop) root(policy string) {
	s.t.Helper()
	namespace := s.argo.Namespace()
	s.create(s.application(s.name, s.layout.Overlay, namespace, policy))
}

func (s *shop) deliverer() *argocd.Deliverer {
	s.t.Helper()
	objects, err := apply.New(apply.Config{RESTConfig: s.config})
	if err != nil {
		s.t.Fatal(err)
	}
	d, err := argocd.New(argocd.Config{RESTConfig: s.config, Layout: s.layout, Objects: objects, OperationWait: s.operationWait})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *shop) render(c source.Commit) lifecycle.Rendering {
	s.t.Helper()
	r, err := s.tryRender(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *shop) tryRender(c source.Commit) (lifecycle.Rendering, error) {
	s.t.Helper()
	renderer, err := argocd.NewRenderer(s.layout, render.New())
	if err != nil {
		s.t.Fatal(err)
	}
	return renderer.Render(s.t.Context(), lifecycle.RenderRequest{Tree: c.Tree, Commit: c.ID, Overlay: s.layout.Overlay, Images: s.images,
		Labels: map[string]string{keys.Target: s.name}})
}

// delivered is what a delivery did.
type delivered struct {
	request lifecycle.DeliverRequest
	result  lifecycle.DeliverResult
	seen    lifecycle.Observation
	guarded atomic.Int64
}

// observe is the request for a look at the delivery.
func (d *delivered) observe() lifecycle.ObserveRequest {
	return lifecycle.ObserveRequest{Target: d.request.Target, Objects: d.request.Resolved, Seen: d.seen.Seen, Commit: d.request.Commit,
		Images: d.request.Images, Applications: d.seen.Applications}
}

// point renders and points the Applications at a commit.
func (s *shop) point(ctx context.Context, c source.Commit) (*delivered, error) {
	s.t.Helper()
	d := s.deliverer()
	rendering := s.render(c)
	resolved, err := d.Resolve(ctx, rendering.Objects)
	if err != nil {
		return nil, err
	}
	out := &delivered{}
	out.request = lifecycle.DeliverRequest{Objects: rendering.Objects, Resolved: resolved, Target: s.name, Commit: c.ID, Images: s.images, Token: s.token,
		Guard: func(context.Context) error { out.guarded.Add(1); return nil }}
	out.result, err = d.Deliver(ctx, out.request)
	return out, err
}

// wait waits for what was pointed.
func (s *shop) wait(ctx context.Context, d *delivered, timeout time.Duration) error {
	s.t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s", timeout))
	defer cancel()
	r := d.observe()
	r.Seen, r.Applications, r.Guard = d.result.Seen, d.result.Applications, d.request.Guard
	var last string
	r.Progress = func(o lifecycle.Observation) {
		for _, u := range o.Unready {
			if text := lifecycle.ObjectName(u.Object) + ": " + u.Reason; text != last {
				s.t.Log(time.Now().Format("05.000"), text)
				last = text
			}
		}
	}
	var err error
	d.seen, err = s.deliverer().Wait(ctx, r)
	return err
}

// deliver delivers a commit and fails the test if that fails.
func (s *shop) deliver(c source.Commit) *delivered {
	s.t.Helper()
	d, err := s.point(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.wait(s.t.Context(), d, patience); err != nil {
		s.t.Fatalf("%v\n%s", err, s.dump())
	}
	return d
}

// dump shows the Applications of the test.
func (s *shop) dump() string {
	list, err := s.apps.List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, a := range list.Items {
		if strings.HasPrefix(a.GetName(), s.name) {
			data, _ := json.MarshalIndent(map[string]any{"name": a.GetName(), "spec": a.Object["spec"], "status": a.Object["status"], "operation": a.Object["operation"]}, "", " ")
			b.Write(data)
		}
	}
	return b.String()
}

func (s *shop) app(name string) *unstructured.Unstructured {
	s.t.Helper()
	a, err := s.apps.Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// patch merges into an Application, as somebody does who is called so.
func (s *shop) patch(name, manager, doc string) {
	s.t.Helper()
	data, err := json.Marshal(yamlObject(s.t, doc))
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.apps.Patch(s.t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager}); err != nil {
		s.t.Fatal(err)
	}
}

// image is what the Deployment of that name runs.
func (s *shop) image(name string) string {
	s.t.Helper()
	d, err := devtest.Client(s.t, s.argo.Cluster().Config()).AppsV1().Deployments(s.name).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	if d.Labels[keys.Target] != s.name {
		s.t.Errorf("the Deployment %s has the labels %v", name, d.Labels)
	}
	return d.Spec.Template.Spec.Containers[0].Image
}

func mustContain(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q lacks %q", text, p)
		}
	}
}

func names(list []receipt.Application) string {
	var out []string
	for _, a := range list {
		out = append(out, a.Name+" "+a.Sync+" "+a.Health)
	}
	return strings.Join(out, ", ")
}
