// Package takeovertest gives the tests of takeovers a repository and a target, and a
// workstation that runs nothing.
package takeovertest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// Shop is a repository with two services whose images are of files, and a target that
// Pharos itself applies to and has delivered.
type Shop struct {
	t *testing.T
	// Dir is the checkout.
	Dir string
	// Namespace is that of everything, and the target's name.
	Namespace string
	// REST is the API server.
	REST *rest.Config
}

// NewShop delivers the shop.
func NewShop(t *testing.T, c *devenv.Cluster) *Shop {
	t.Helper()
	registry := devtest.Registry(t)
	files := services()
	files["gitops/api.yaml"], files["gitops/mail.yaml"] = manifest("api"), manifest("mail")
	return Deliver(t, c, registry, registry, files)
}

// Deliver delivers a repository of these files, of which pharos.yaml gets a target, and
// gitops a kustomization of all that is in it. The registry is that host, as it is
// pushed to from here and as the nodes pull from it.
func Deliver(t *testing.T, c *devenv.Cluster, push, pull string, files map[string]string) *Shop {
	t.Helper()
	s := open(t, c)
	files = maps.Clone(files)
	files["pharos.yaml"] += s.target(push, pull)
	var resources []string
	for name := range files {
		if file, ok := strings.CutPrefix(name, "gitops/"); ok {
			resources = append(resources, file)
		}
	}
	slices.Sort(resources)
	files["gitops/kustomization.yaml"] = "namespace: " + s.Namespace + "\nresources: [" + strings.Join(resources, ", ") + "]\n"
	s.Write(files)
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "Open the shop")
	s.prepare()
	head, err := s.Repository().Commit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lifecycle().Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: head, Repository: s.Repository()}); err != nil {
		t.Fatal(err)
	}
	return s
}

// open is a shop without files.
func open(t *testing.T, c *devenv.Cluster) *Shop {
	t.Helper()
	s := &Shop{t: t, Dir: t.TempDir(), Namespace: devtest.Namespace(t, c), REST: c.Config()}
	s.git("init", "-q", "-b", "main")
	return s
}

// prepare records that the target is prepared.
func (s *Shop) prepare() {
	s.t.Helper()
	cluster, err := standard.NewCluster(s.REST, s.Namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	uid, err := cluster.UID(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	store, err := standard.NewCheckpoints(s.REST, s.Namespace, s.Namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := store.SetCheckpoint(s.t.Context(), lifecycle.Checkpoint{}, lifecycle.Checkpoint{
		APIVersion: lifecycle.CheckpointAPIVersion, Kind: lifecycle.CheckpointKind,
		Target: receipt.Target{Name: s.Namespace, ClusterUID: uid}, Repository: s.git("rev-parse", "HEAD"), Complete: true,
	}); err != nil {
		s.t.Fatal(err)
	}
}

// Write writes files of the checkout.
func (s *Shop) Write(files map[string]string) {
	s.t.Helper()
	for name, content := range files {
		path := filepath.Join(s.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *Shop) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", s.Dir, "-c", "user.name=Shop", "-c", "user.email=shop@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Repository is the checkout's.
func (s *Shop) Repository() *source.Repository {
	s.t.Helper()
	repo, err := source.Open(s.Dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return repo
}
