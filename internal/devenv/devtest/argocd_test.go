package devtest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

var applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

// The digests of images that there need not be: nothing runs on a hollow node.
var (
	digestOne = "sha256:" + strings.Repeat("1", 64)
	digestTwo = "sha256:" + strings.Repeat("2", 64)
)

// web is a Deployment, its kustomization and what the image is called in it.
var web = map[string]string{
	"web/kustomization.yaml": "resources: [web.yaml]\n",
	"web/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
`,
}

// pushedTo makes a repository with these files, pushes it to nothing but this ref, and returns the commit.
func pushedTo(t *testing.T, url, ref string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	for file, content := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message=one")
	git(t, dir, "push", "--quiet", url, "HEAD:"+ref)
	return git(t, dir, "rev-parse", "HEAD")
}

// application is one that Argo CD keeps to itself, with a source's kustomize.
func application(name, url, commit, path, namespace string, kustomize map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1",
		"kind":       "Application",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": url, "targetRevision": commit, "path": path, "kustomize": kustomize},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": namespace},
			"syncPolicy":  map[string]any{"automated": map[string]any{"selfHeal": true, "prune": true}},
		},
	}
}

// argoTest is what a test has of an Argo CD.
type argoTest struct {
	*devenv.ArgoCD
	applications dynamic.ResourceInterface
	client       kubernetes.Interface
	// namespace is the test's own.
	namespace string
}

func newArgoTest(t *testing.T, a *devenv.ArgoCD) argoTest {
	t.Helper()
	client, err := dynamic.NewForConfig(a.Cluster().Config())
	if err != nil {
		t.Fatal(err)
	}
	return argoTest{
		ArgoCD:       a,
		applications: client.Resource(applications).Namespace(a.Namespace()),
		client:       devtest.Client(t, a.Cluster().Config()),
		namespace:    devtest.Namespace(t, a.Cluster()),
	}
}

func (a argoTest) create(t *testing.T, o map[string]any) string {
	t.Helper()
	created, err := a.applications.Create(t.Context(), &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.GetName()
}

func (a argoTest) patch(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	b, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.applications.Patch(t.Context(), name, types.MergePatchType, b, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitSynced waits until an Application is Synced and Healthy at the commit.
func (a argoTest) awaitSynced(t *testing.T, name, commit string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := a.applications.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last any
	for e := range w.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		last = o.Object["status"]
		status := func(fields ...string) string {
			s, _, _ := unstructured.NestedString(o.Object, append([]string{"status"}, fields...)...)
			return s
		}
		if status("sync", "status") == "Synced" && status("sync", "revision") == commit && status("health", "status") == "Healthy" {
			return
		}
	}
	t.Fatalf("Application %s is not Synced and Healthy at %s: %v", name, commit, last)
}

// awaitDeployment waits until the Deployment web is as wanted.
func (a argoTest) awaitDeployment(t *testing.T, want func(*appsv1.Deployment) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := a.client.AppsV1().Deployments(a.namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=web"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last *appsv1.Deployment
	for e := range w.ResultChan() {
		if d, ok := e.Object.(*appsv1.Deployment); ok {
			if last = d; want(d) {
				return
			}
		}
	}
	t.Fatalf("the Deployment is not as wanted: %+v", last)
}

func image(d *appsv1.Deployment) string { return d.Spec.Template.Spec.Containers[0].Image }

func TestArgoCDDeliversACommit(t *testing.T) {
	t.Parallel()
	a := newArgoTest(t, devtest.ArgoCD(t))
	url := a.GitURL() + "/" + a.namespace + ".git"
	// It stands under no branch, and only its ID leads to it.
	commit := pushedTo(t, url, "refs/pharos/receipts/x", web)
	want := "registry.invalid/team/web@" + digestOne
	name := a.create(t, application(a.namespace, url, commit, "web", a.namespace, map[string]any{"images": []any{"web=" + want}}))
	a.awaitSynced(t, name, commit)
	a.awaitDeployment(t, func(d *appsv1.Deployment) bool { return image(d) == want })
}

func TestArgoCDDeliversAnAppOfApps(t *testing.T) {
	t.Parallel()
	a := newArgoTest(t, devtest.ArgoCD(t))
	url := a.GitURL() + "/" + a.namespace + ".git"
	child := a.namespace + "-web"
	declared, err := json.Marshal(application(child, url, "main", "web", a.namespace, nil))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"root/kustomization.yaml": "resources: [web.yaml]\n",
		"root/web.yaml":           string(declared),
	}
	for file, content := range web {
		files[file] = content
	}
	commit := pushedTo(t, url, "refs/pharos/receipts/x", files)
	want := "registry.invalid/team/web@" + digestTwo
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/spec/source/targetRevision", "value": commit},
		{"op": "add", "path": "/spec/source/kustomize", "value": map[string]any{"images": []string{"web=" + want}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	root := a.create(t, application(a.namespace, url, commit, "root", a.Namespace(), map[string]any{"patches": []any{
		map[string]any{"target": map[string]any{"kind": "Application", "name": child}, "patch": string(patch)},
	}}))
	a.awaitSynced(t, root, commit)
	a.awaitSynced(t, child, commit)
	a.awaitDeployment(t, func(d *appsv1.Deployment) bool { return image(d) == want })
}

func TestArgoCDControllerStopsAndComesBack(t *testing.T) {
	t.Parallel()
	a := newArgoTest(t, devtest.OwnArgoCD(t, devtest.OwnCluster(t, devenv.Options{})))
	ctx := t.Context()
	url := a.GitURL() + "/shop.git"
	commit := pushedTo(t, url, "refs/heads/main", web)
	images := func(digest string) map[string]any {
		return map[string]any{"images": []any{"web=registry.invalid/web@" + digest}}
	}
	name := a.create(t, application("web", url, commit, "web", a.namespace, images(digestOne)))
	a.awaitSynced(t, name, commit)

	if err := a.ResumeController(ctx); err != nil {
		t.Errorf("resume one that was not paused: %v", err)
	}
	if err := a.StartController(ctx); err == nil {
		t.Error("the controller was started twice")
	}
	for _, step := range []struct {
		name       string
		away, back func(context.Context) error
		digest     string
	}{
		{"stopped", a.StopController, a.StartController, digestTwo},
		{"paused", a.PauseController, a.ResumeController, digestOne},
	} {
		if err := step.away(ctx); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		a.patch(t, name, map[string]any{"source": map[string]any{"kustomize": images(step.digest)}})
		if step.name == "stopped" {
			if err := a.StopController(ctx); err == nil {
				t.Error("the controller was stopped twice")
			}
		}
		if err := step.back(ctx); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		a.awaitDeployment(t, func(d *appsv1.Deployment) bool { return strings.HasSuffix(image(d), step.digest) })
		a.awaitSynced(t, name, commit)
	}

	// It heals what is edited.
	scale := []byte(`{"spec":{"replicas":3}}`)
	if _, err := a.client.AppsV1().Deployments(a.namespace).Patch(ctx, "web", types.MergePatchType, scale, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Cluster().Restart(ctx); err != nil {
		t.Fatal(err)
	}
	a.patch(t, name, map[string]any{"source": map[string]any{"kustomize": images(digestTwo)}})
	a.awaitDeployment(t, func(d *appsv1.Deployment) bool { return strings.HasSuffix(image(d), digestTwo) })
	a.awaitSynced(t, name, commit)
}
