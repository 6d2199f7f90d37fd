package divert_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// application is one of a real Argo CD, which delivers the manifest to a namespace of
// its name.
type application struct {
	*bench
	apps dynamic.ResourceInterface
}

func newApplication(t *testing.T, a *devenv.ArgoCD, options []any) application {
	t.Helper()
	b := &bench{T: t, cluster: a.Cluster(), namespace: devtest.Namespace(t, a.Cluster()), admin: devtest.Client(t, a.Cluster().Config())}
	client, err := dynamic.NewForConfig(a.Cluster().Config())
	if err != nil {
		t.Fatal(err)
	}
	app := application{bench: b, apps: client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).Namespace(a.Namespace())}
	dir, url := t.TempDir(), a.GitURL()+"/"+b.namespace+".git"
	if err := os.WriteFile(filepath.Join(dir, "api.yaml"), []byte(strings.ReplaceAll(manifest, "IMAGE", original)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=Shop", "-c", "user.email=shop@example.com", "commit", "-q", "-m", "Open"}, {"push", "-q", url, "main"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	_, err = app.apps.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": b.namespace},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": url, "targetRevision": "main", "path": "."},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": b.namespace},
			"syncPolicy":  map[string]any{"automated": map[string]any{"selfHeal": true}, "syncOptions": options},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = app.apps.Delete(context.WithoutCancel(t.Context()), b.namespace, metav1.DeleteOptions{})
	})
	app.become("synced", synced)
	b.rolledOut()
	return app
}

func synced(a *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedString(a.Object, "status", "sync", "status")
	phase, _, _ := unstructured.NestedString(a.Object, "status", "operationState", "phase")
	_, asked := a.GetAnnotations()["argocd.argoproj.io/refresh"]
	return status == "Synced" && phase == "Succeeded" && a.Object["operation"] == nil && !asked
}

// become waits until the Application is as wanted.
func (a application) become(what string, is func(*unstructured.Unstructured) bool) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), 5*time.Minute)
	defer cancel()
	if last, err := devtest.Await(ctx, a.apps.Watch, a.namespace, is); err != nil {
		a.Fatalf("the Application is not %s: %v: %+v", what, err, last)
	}
}

func (a application) merge(patch string) {
	a.Helper()
	if _, err := a.apps.Patch(a.Context(), a.namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		a.Fatal(err)
	}
}

// Self-heal alone undoes a diversion, since Git declares all that it replaces; and where
// it was put back without it, Argo CD sees no drift. Either way nothing is left of it.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	argo := devtest.ArgoCD(t)
	for name, options := range map[string][]any{"applied by the client": {}, "applied by the server": {"ServerSideApply=true"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApplication(t, argo, options)
			was := a.live()
			w := a.writer(a.cluster.Config(), nil)
			same := func() {
				t.Helper()
				now := a.live()
				if spec(t, now) != spec(t, was) {
					t.Errorf("the spec is\n%s\nand was\n%s", spec(t, now), spec(t, was))
				}
				for _, o := range owners(t, now) {
					if strings.HasPrefix(o, "pharos.takeover") {
						t.Errorf("left is %s", o)
					}
				}
			}
			d := a.plan()
			if err := w.Divert(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			a.await(func(d *appsv1.Deployment) bool { return d.Spec.Template.Spec.Containers[1].Image == original })
			a.become("synced", synced)
			if r := a.restore(w, d); r.Outcome != divert.OutcomeWhole {
				t.Errorf("got %+v", r)
			}
			same()

			a.rolledOut()
			a.merge(`{"spec":{"syncPolicy":{"automated":null}}}`)
			d = a.plan()
			if err := w.Divert(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			a.merge(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`)
			a.become("out of sync", func(o *unstructured.Unstructured) bool {
				status, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
				return status == "OutOfSync"
			})
			if r := a.restore(w, d); r.Outcome != divert.OutcomeRestored {
				t.Errorf("got %+v", r)
			}
			a.merge(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`)
			a.become("synced", synced)
			same()
		})
	}
}
