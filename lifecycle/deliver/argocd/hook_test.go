package argocd_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// documentedHook is the manifest that the documentation gives for a Job.
func documentedHook(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/deliver-argocd.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## Jobs\n")
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("the page has no such manifest")
	}
	return text
}

// The Job of the documentation runs with every sync, with the image of the commit,
// and its failure is that of the delivery.
func TestDocumentedHook(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	files := s.appOfApps("{automated: {selfHeal: true}, retry: {limit: 0}}", "api")
	files["api/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, migrate.yaml]\n"
	files["api/migrate.yaml"] = documentedHook(t)
	first := s.delivers(files)
	s.images[0].Digest = digest(2)
	second := s.delivers(files)
	if first.Spec.Template.Spec.Containers[0].Image != ref("api", 1) || second.Spec.Template.Spec.Containers[0].Image != ref("api", 2) || first.UID == second.UID {
		t.Errorf("it ran as %v, and then as %v", first, second)
	}
	files["api/migrate.yaml"] = strings.Replace(documentedHook(t), "  template:\n", "  template:\n    metadata: {annotations: {hollow.pharos.dev/exit-code: \"3\"}}\n", 1)
	s.images[0].Digest = digest(3)
	s.fails(lifecycle.ErrUnhealthy, s.mustPoint(files), patience, "phase PreSync", "Job "+s.name+"/migrate")
	s.runs("api", ref("api", 2))

	// What it stands in the place of is refused, and its advice leads here.
	files["api/migrate.yaml"] = strings.Replace(documentedHook(t), "argocd.argoproj.io/hook: PreSync", "pharos.dev/run-once: \"true\"", 1)
	if _, err := s.tryRender(s.commit(files)); !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("a Job that runs once: %v", err)
	} else {
		mustContain(t, err.Error(), "Job "+s.name+"/migrate", "argocd.argoproj.io/hook: Sync", "deliver: {apply: {}}")
	}
}

// delivers delivers a commit of the files, and returns its Job.
func (s *shop) delivers(files map[string]string) *batchv1.Job {
	s.t.Helper()
	s.deliver(s.commit(files))
	job, err := devtest.Client(s.t, s.config).BatchV1().Jobs(s.name).Get(s.t.Context(), "migrate", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	if job.Status.Succeeded != 1 {
		s.t.Errorf("it has not run: %+v", job.Status)
	}
	return job
}
