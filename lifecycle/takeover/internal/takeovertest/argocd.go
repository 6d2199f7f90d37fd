package takeovertest

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// NewArgoShop is the shop, delivered by Argo CD: a root that declares an Application for
// each service, which heals itself.
func NewArgoShop(t *testing.T, a *devenv.ArgoCD) *Shop {
	t.Helper()
	s, registry := open(t, a.Cluster()), devtest.Registry(t)
	url := a.GitURL() + "/" + s.Namespace + ".git"
	files := services()
	files["pharos.yaml"] += s.target(registry, registry) + fmt.Sprintf("  deliver: {argocd: {namespace: %s, root: %s}}\n  git: {url: %q}\n", a.Namespace(), s.Namespace, url)
	files["gitops/kustomization.yaml"] = "resources: [apps.yaml]\n"
	for _, name := range []string{"api", "mail"} {
		files["gitops/apps.yaml"] += fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: pharos-%s
  source: {repoURL: %q, targetRevision: main, path: gitops/%s}
  destination: {server: "https://kubernetes.default.svc", namespace: %[3]s}
  syncPolicy: {automated: {selfHeal: true}}
`, s.Application(name), a.Namespace(), s.Namespace, url, name)
		files["gitops/"+name+"/kustomization.yaml"] = "namespace: " + s.Namespace + "\nresources: [" + name + ".yaml]\n"
		files["gitops/"+name+"/"+name+".yaml"] = manifest(name)
	}
	s.Write(files)
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "Open the shop")
	s.git("push", "-q", url, "HEAD:refs/first/shop") // the server makes the repository
	head, err := s.Repository().Commit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(s.REST)
	if err != nil {
		t.Fatal(err)
	}
	apps := client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).Namespace(a.Namespace())
	t.Cleanup(func() {
		for _, name := range []string{s.Namespace, s.Application("api"), s.Application("mail")} {
			_ = apps.Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
	if _, err := s.Lifecycle().Deploy(t.Context(), lifecycle.ReconcileRequest{Commit: head, Repository: s.Repository()}); err != nil {
		t.Fatal(err)
	}
	return s
}

// Application is the name of the Application of a service.
func (s *Shop) Application(name string) string { return s.Namespace + "-" + name }
