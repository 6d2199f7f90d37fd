package takeovertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// NewArgoShop is the shop, delivered by Argo CD.
func NewArgoShop(t *testing.T, a *devenv.ArgoCD) *Shop {
	t.Helper()
	registry, files := devtest.Registry(t), services()
	files["gitops/api.yaml"], files["gitops/mail.yaml"] = manifest("api"), manifest("mail")
	return DeliverByArgoCD(t, a, registry, registry, files)
}

// DeliverByArgoCD is [Deliver] by Argo CD: a root declares an Application for each file of
// gitops, which heals itself.
func DeliverByArgoCD(t *testing.T, a *devenv.ArgoCD, push, pull string, files map[string]string) *Shop {
	t.Helper()
	s := open(t, a.Cluster())
	url := a.GitURL() + "/" + s.Namespace + ".git"
	written := map[string]string{"gitops/kustomization.yaml": "resources: [apps.yaml]\n"}
	names := []string{s.Namespace}
	for file, text := range files {
		service, ok := strings.CutPrefix(file, "gitops/")
		if !ok {
			written[file] = text
			continue
		}
		name := strings.TrimSuffix(service, ".yaml")
		names = append(names, s.Application(name))
		written["gitops/apps.yaml"] += fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: pharos-%s
  source: {repoURL: %q, targetRevision: main, path: gitops/%s}
  destination: {server: "https://kubernetes.default.svc", namespace: %[3]s}
  syncPolicy: {automated: {selfHeal: true}}
`, s.Application(name), a.Namespace(), s.Namespace, url, name)
		written["gitops/"+name+"/kustomization.yaml"] = "namespace: " + s.Namespace + "\nresources: [" + service + "]\n"
		written["gitops/"+name+"/"+service] = text
	}
	written["pharos.yaml"] += s.target(push, pull) + fmt.Sprintf("  deliver: {argocd: {namespace: %s, root: %s}}\n  git: {url: %q}\n", a.Namespace(), s.Namespace, url)
	s.Write(written)
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
		for _, name := range names {
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
