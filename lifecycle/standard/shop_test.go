package standard_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// shop is a repository with two services and a library, and a target for it.
type shop struct {
	t         *testing.T
	dir       string
	namespace string
	registry  string
}

// newShop is one whose target is prepared.
func newShop(t *testing.T, c *devenv.Cluster) *shop {
	t.Helper()
	s := newBareShop(t, c)
	s.prepared(c.Config(), s.target(), s.git("rev-parse", "HEAD"))
	return s
}

// prepared records that a target is, for the repository with that first commit.
func (s *shop) prepared(cfg *rest.Config, target standard.Target, first string) {
	s.t.Helper()
	cluster, err := standard.NewCluster(cfg, target.Namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	uid, err := cluster.UID(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	store, err := standard.NewCheckpoints(cfg, target.Namespace, target.Name)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := store.SetCheckpoint(s.t.Context(), lifecycle.Checkpoint{}, lifecycle.Checkpoint{
		APIVersion: lifecycle.CheckpointAPIVersion, Kind: lifecycle.CheckpointKind,
		Target: receipt.Target{Name: target.Name, ClusterUID: uid}, Repository: first, Complete: true,
	}); err != nil {
		s.t.Fatal(err)
	}
}

func newBareShop(t *testing.T, c *devenv.Cluster) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir(), namespace: devtest.Namespace(t, c), registry: devtest.Registry(t)}
	s.git("init", "-q", "-b", "main")
	s.write(map[string]string{
		"go.mod":             "module shop.example\n\ngo 1.26\n",
		"libs/price/p.go":    "package price\n\nfunc Of(n int) int { return n * 3 }\n",
		"services/api/m.go":  "package main\n\nimport \"shop.example/libs/price\"\n\nfunc main() { println(price.Of(2)) }\n",
		"services/mail/m.go": "package main\n\nfunc main() { println(\"mail\") }\n",
		"README.md":          "# Shop\n",
		"pharos.yaml": `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {go: {package: ./services/api}}
  inputs: [services/api, libs, go.mod]
- name: mail
  build: {go: {package: ./services/mail}}
  inputs: [services/mail, go.mod]
delivery: [gitops/**, pharos.yaml]
neutral: ["**/*.md", docs/**]
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: ` + s.namespace + `}
spec:
  namespace: ` + s.namespace + `
  registry: {push: "` + s.registry + `/shop", insecure: true}
  overlay: gitops
`,
		"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [api.yaml, mail.yaml, settings.yaml]\n",
		"gitops/settings.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: EUR}\n",
		"gitops/api.yaml":           deployment("api", ""),
		"gitops/mail.yaml":          deployment("mail", ""),
	})
	s.commit("Open the shop")
	return s
}

// deployment is a Deployment of an image of that name; more goes into its pod's
// spec.
func deployment(name, more string) string {
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

func (s *shop) write(files map[string]string) {
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

func (s *shop) commit(subject string) string {
	s.t.Helper()
	s.git("add", "-A")
	s.git("commit", "-q", "-m", subject)
	return s.git("rev-parse", "HEAD")
}

func (s *shop) repository() *source.Repository {
	s.t.Helper()
	repo, err := source.Open(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return repo
}

func (s *shop) head() source.Commit {
	s.t.Helper()
	commit, err := s.repository().Commit(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	return commit
}

// patientLease is the timing of tests: a machine that does much else may be late to
// renew it. One that is killed has one of its own.
var patientLease = lease.Config{
	Deliver: lease.Timing{Duration: 30 * time.Second, RenewEvery: 2 * time.Second}, Margin: 2 * time.Second, Grace: time.Second, RetryPeriod: 200 * time.Millisecond, RequestTimeout: 5 * time.Second,
}

func (s *shop) target() standard.Target {
	s.t.Helper()
	targets, err := standard.ReadTargets(s.t.Context(), s.head().Tree)
	if err != nil {
		s.t.Fatal(err)
	}
	target, err := standard.SelectTarget(targets, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return target
}

func (s *shop) options(cfg *rest.Config) standard.Options {
	return standard.Options{REST: cfg, Actor: "test@localhost", Env: os.Environ(), Checkout: s.dir, Lease: patientLease}
}

func (s *shop) lifecycle(cfg *rest.Config) *lifecycle.Lifecycle {
	s.t.Helper()
	l, err := standard.New(s.target(), s.options(cfg))
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

func (s *shop) receipts(cfg *rest.Config) (receipt.Store, error) {
	return standard.NewReceipts(s.target(), s.options(cfg))
}

// hold has somebody borrow the target until release is called.
func (s *shop) hold(cfg *rest.Config, user string) (release func()) {
	s.t.Helper()
	m, err := standard.NewLease(s.target(), s.options(cfg))
	if err != nil {
		s.t.Fatal(err)
	}
	held, err := m.Acquire(s.t.Context(), lease.Request{Mode: lease.ModeBorrow, User: user, Purpose: "debugging"})
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		if err := held.Release(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// reconcile delivers HEAD and fails the test if that fails.
func (s *shop) reconcile(cfg *rest.Config) lifecycle.ReconcileResult {
	s.t.Helper()
	res, err := s.lifecycle(cfg).Reconcile(s.t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	if err != nil {
		s.t.Fatalf("reconcile: %v", err)
	}
	return res
}

func (s *shop) status(cfg *rest.Config) lifecycle.Status {
	s.t.Helper()
	st, err := s.lifecycle(cfg).Status(s.t.Context())
	if err != nil {
		s.t.Fatalf("status: %v", err)
	}
	return st
}

// built lists the images that were built.
func built(events []lifecycle.Event) []string {
	var names []string
	for _, e := range events {
		if e.Type == lifecycle.EventImageBuilt {
			names = append(names, e.Image.Name)
		}
	}
	return names
}

// proxy stands before the registry as long as the test runs.
func (s *shop) proxy() *faultproxy.Proxy {
	s.t.Helper()
	proxy, err := faultproxy.Start("http://"+s.registry, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(proxy.Close)
	return proxy
}

// throughProxy has the target go through one. It is for the next commit.
func (s *shop) throughProxy() *faultproxy.Proxy {
	s.t.Helper()
	proxy := s.proxy()
	s.write(map[string]string{"pharos.yaml": strings.ReplaceAll(s.git("show", "HEAD:pharos.yaml"), s.registry, proxy.Host()) + "\n"})
	return proxy
}
