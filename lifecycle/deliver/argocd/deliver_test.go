package argocd_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/argocd"
)

func ref(name string, n int) string { return registry + "/" + name + "@" + string(digest(n)) }

func (s *shop) runs(name, want string) {
	s.t.Helper()
	if got := s.image(name); got != want {
		s.t.Errorf("%s runs %s, want %s", name, got, want)
	}
}

// One Application with the overlay of the target, and the same commit with
// another digest.
func TestSingleApplication(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	c := s.commit(s.single(""))
	s.root(automated)
	d := s.deliver(c)
	s.runs("api", ref("api", 1))
	if len(d.seen.Applications) != 1 || d.seen.Applications[0].Revisions[0] != string(c.ID) || len(d.seen.Unready) != 0 || len(d.seen.Seen) != 1 {
		t.Errorf("saw %+v", d.seen)
	}
	if len(d.result.Changes) != 1 || d.result.Changes[0].Type != lifecycle.ChangeConfigured || d.guarded.Load() == 0 {
		t.Errorf("did %+v, guarded %d times", d.result.Changes, d.guarded.Load())
	}
	s.images[0].Digest = digest(3)
	s.deliver(c)
	s.runs("api", ref("api", 3))
	if again := s.deliver(c); again.result.Changes[0].Type != lifecycle.ChangeUnchanged {
		t.Errorf("did %+v", again.result.Changes)
	}
	if got := s.app(s.name).GetAnnotations()[keys.FencingToken]; got != "1" {
		t.Errorf("fencing token %q", got)
	}
}

// A root whose overlay declares Applications, with each policy.
func TestAppOfApps(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{"automated": automated, "manual": "{syncOptions: [ServerSideApply=true]}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, devtest.ArgoCD(t))
			s.root(policy)
			for n := range 2 {
				s.images[0].Digest = digest(3 + n)
				d := s.deliver(s.commit(s.appOfApps(policy, "api", "web")))
				s.runs("api", ref("api", 3+n))
				s.runs("web", ref("web", 2))
				if len(d.seen.Applications) != 3 || d.seen.Applications[0].Name != s.name {
					t.Errorf("saw %s", names(d.seen.Applications))
				}
				for _, a := range d.seen.Applications {
					if a.Sync != "Synced" || a.Health != "Healthy" || a.Revisions[0] != string(d.request.Commit) {
						t.Errorf("saw %+v", a)
					}
				}
			}
		})
	}
}

// A commit without a difference, and one on top of which nothing is left to do.
func TestNoDifference(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	first := s.deliver(s.commit(s.appOfApps(automated, "api")))
	second := s.deliver(s.commit(map[string]string{"README.md": "# Shop\n"}))
	if a, b := first.request.Commit, second.request.Commit; a == b {
		t.Fatalf("both are %s", a)
	}
	for _, a := range second.seen.Applications {
		if a.Revisions[0] != string(second.request.Commit) {
			t.Errorf("%s is at %s", a.Name, a.Revisions)
		}
	}
}

// Several sources, of which some are of the repository.
func TestSeveralSources(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	files := s.folder("api")
	for name, content := range s.folder("web") {
		files[name] = content
	}
	other := s.url + "-other.git"
	files["root/kustomization.yaml"] = "resources: [apps.yaml]\n"
	child := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %q, namespace: %q}
spec:
  project: default
  sources:
  - {repoURL: %q, targetRevision: main, path: api}
  - {repoURL: %q, targetRevision: main, path: web}
  - {repoURL: %q, targetRevision: main, path: extra}
  destination: {server: "https://kubernetes.default.svc", namespace: %q}
  syncPolicy: %s
`, s.child("both"), s.argo.Namespace(), s.url, s.url, other, s.name, automated)
	files["root/apps.yaml"] = child
	files["extra/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [extra.yaml]\n"
	files["extra/extra.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n"
	c := s.commit(files)
	s.git("push", "-q", other, string(c.ID)+":refs/heads/main")
	s.root(automated)
	d := s.deliver(c)
	s.runs("api", ref("api", 1))
	s.runs("web", ref("web", 2))
	if _, err := devtest.Client(t, s.config).CoreV1().ConfigMaps(s.name).Get(t.Context(), "extra", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if got := d.seen.Applications[1].Revisions; len(got) != 3 || got[0] != string(c.ID) || got[1] != string(c.ID) {
		t.Errorf("revisions %v", got)
	}
}

// Applications side by side, one with a folder of its own choice.
func TestListOfApplications(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	files := s.folder("api")
	for name, content := range s.folder("web") {
		files[name] = content
	}
	s.layout.Root, s.layout.Overlay = "", "."
	s.layout.Applications = []argocd.Part{{Name: s.child("web"), Paths: []string{"web"}}, {Name: s.child("api"), Paths: []string{"api/"}}}
	s.layout.Applications[1].Paths[0] = "api"
	for _, name := range []string{"api", "web"} {
		s.create(s.application(s.child(name), name, s.name, automated))
	}
	d := s.deliver(s.commit(files))
	s.runs("api", ref("api", 1))
	s.runs("web", ref("web", 2))
	if len(d.result.Changes) != 2 || len(d.seen.Applications) != 2 {
		t.Errorf("did %+v, saw %s", d.result.Changes, names(d.seen.Applications))
	}
	if images := s.app(s.child("api")); strings.Contains(fmt.Sprint(images.Object["spec"]), "/web@") {
		t.Errorf("an image that the overlay does not use is set: %v", images.Object["spec"])
	}
}

// What a commit does not declare any more stays, is listed, and does not keep it
// from being live.
func TestOrphans(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(automated)
	s.layout.Overlay = "root"
	files := s.single("")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, settings.yaml]\n"
	files["root/settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
	s.deliver(s.commit(files))
	d := s.deliver(s.commit(s.single("")))
	if len(d.seen.Orphans) != 1 || d.seen.Orphans[0].Name != "settings" || d.seen.Orphans[0].Resource == "" {
		t.Errorf("orphans %+v", d.seen.Orphans)
	}
	if _, err := devtest.Client(t, s.config).CoreV1().ConfigMaps(s.name).Get(t.Context(), "settings", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
