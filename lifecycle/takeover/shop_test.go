package takeover_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/catalogue/source/worktree"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
	"github.com/pharos-dev/pharos/receipt"
)

// shop is a repository with two services whose images are of files, and a target that
// Pharos itself applies to and has delivered.
type shop struct {
	t         *testing.T
	dir       string
	namespace string
	config    *rest.Config
}

func newShop(t *testing.T, c *devenv.Cluster) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir(), namespace: devtest.Namespace(t, c), config: c.Config()}
	registry := devtest.Registry(t)
	s.git("init", "-q", "-b", "main")
	s.write(map[string]string{
		"api/main.txt":  "api 1\n",
		"mail/main.txt": "mail 1\n",
		"README.md":     "# Shop\n",
		"pharos.yaml": `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {files: {from: api}}
  inputs: [api]
  run: {command: [cat]}
- name: mail
  build: {files: {from: mail}}
  inputs: [mail]
  run: {command: [cat]}
delivery: [gitops/**, pharos.yaml]
neutral: ["**/*.md"]
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: ` + s.namespace + `}
spec:
  namespace: ` + s.namespace + `
  registry: {push: "` + registry + `/shop", insecure: true}
  overlay: gitops
`,
		"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [api.yaml, mail.yaml]\n",
		"gitops/api.yaml":           manifest("api"),
		"gitops/mail.yaml":          manifest("mail"),
	})
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "Open the shop")
	s.prepare()
	l := s.lifecycle()
	head, err := s.repository().Commit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: head, Repository: s.repository()}); err != nil {
		t.Fatal(err)
	}
	return s
}

// manifest is a Deployment and its Service.
func manifest(name string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: main
        image: %[1]s
        args: [serve]
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {exec: {command: [cat, /ready]}}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec:
  selector: {app: %[1]s}
  ports: [{port: 80, targetPort: http}]
`, name)
}

// prepare records that the target is prepared.
func (s *shop) prepare() {
	s.t.Helper()
	cluster, err := standard.NewCluster(s.config, s.namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	uid, err := cluster.UID(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	store, err := standard.NewCheckpoints(s.config, s.namespace, s.namespace)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := store.SetCheckpoint(s.t.Context(), lifecycle.Checkpoint{}, lifecycle.Checkpoint{
		APIVersion: lifecycle.CheckpointAPIVersion, Kind: lifecycle.CheckpointKind,
		Target: receipt.Target{Name: s.namespace, ClusterUID: uid}, Repository: s.git("rev-parse", "HEAD"), Complete: true,
	}); err != nil {
		s.t.Fatal(err)
	}
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

func (s *shop) repository() *source.Repository {
	s.t.Helper()
	repo, err := source.Open(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return repo
}

func (s *shop) lifecycle() *lifecycle.Lifecycle {
	s.t.Helper()
	l, err := lifecycleOf(s.t.Context(), s.dir, s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// lifecycleOf is the target's in a repository.
func lifecycleOf(ctx context.Context, dir string, config *rest.Config) (*lifecycle.Lifecycle, error) {
	repo, err := source.Open(dir)
	if err != nil {
		return nil, err
	}
	head, err := repo.Commit(ctx, "")
	if err != nil {
		return nil, err
	}
	targets, err := standard.ReadTargets(ctx, head.Tree)
	if err != nil {
		return nil, err
	}
	return standard.New(targets[0], standard.Options{REST: config, Actor: "ann@laptop", Env: os.Environ(), Checkout: dir,
		Lease: lease.Config{Margin: 2 * time.Second, Grace: time.Second, RetryPeriod: 200 * time.Millisecond}})
}

// agents publishes nothing: no container runs on a hollow node.
type agents struct{}

func (agents) Publish(_ context.Context, r takeover.AgentRequest) (string, error) {
	return "registry.example/shop/pharos-agent@" + digest(r.Session.ID+r.Session.Workload), nil
}

// workstation serves every agent there is.
type workstation struct {
	mu      sync.Mutex
	running map[string]*process
	fail    error
}

func (w *workstation) Start(_ context.Context, r takeover.StartRequest) (takeover.Process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return nil, w.fail
	}
	if w.running == nil {
		w.running = map[string]*process{}
	}
	p := &process{request: r, of: w}
	w.running[r.Workload.Name] = p
	return p, nil
}

func (w *workstation) names() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.running {
		names = append(names, name)
	}
	return names
}

type process struct {
	of      *workstation
	request takeover.StartRequest
	serving sync.WaitGroup
	mu      sync.Mutex
	serves  bool
}

func (p *process) Serve(ctx context.Context, _ divert.Diversion) error {
	p.mu.Lock()
	p.serves = true
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.serves = false
	p.mu.Unlock()
	return nil
}

func (p *process) Connected(types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.serves
}

func (p *process) Restart(context.Context) error { return nil }
func (p *process) State() runtime.State          { return runtime.State{Phase: runtime.Serving} }

func (p *process) Stop() error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	delete(p.of.running, p.request.Workload.Name)
	return nil
}

// configOf is a session's in a checkout.
func configOf(ctx context.Context, dir, namespace string, config *rest.Config) (takeover.Config, error) {
	l, err := lifecycleOf(ctx, dir, config)
	if err != nil {
		return takeover.Config{}, err
	}
	repo, err := source.Open(dir)
	if err != nil {
		return takeover.Config{}, err
	}
	return takeover.Config{
		Lifecycle: l, REST: config, Namespace: namespace, Folder: filepath.Join(repo.GitDir(), "pharos", "takeover"),
		Agents: agents{}, Workstation: &workstation{}, Timeout: 2 * time.Minute,
		Facts: func(ctx context.Context) (takeover.Facts, error) {
			tree, err := worktree.Snapshot(ctx, worktree.Config{Repository: repo})
			if err != nil {
				return takeover.Facts{}, err
			}
			return takeover.Read(ctx, takeover.Source{Lifecycle: l, REST: config, Repository: repo, Tree: tree,
				Controller: func(context.Context) (takeover.Healer, error) { return takeover.Healer{Name: "the controller"}, nil }})
		},
	}, nil
}

func (s *shop) takeover() takeover.Config {
	s.t.Helper()
	c, err := configOf(s.t.Context(), s.dir, s.namespace, s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *shop) client() kubernetes.Interface { return devtest.Client(s.t, s.config) }

// spec is the Deployment's spec as it is on the target.
func (s *shop) spec(name string) string {
	s.t.Helper()
	d, err := s.client().AppsV1().Deployments(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	doc, err := json.Marshal(d.Spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(doc)
}

// whole wants the target to be as it was before, and nothing of a takeover to be left.
func (s *shop) whole(specs map[string]string) {
	s.t.Helper()
	for name, want := range specs {
		if got := s.spec(name); got != want {
			s.t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	st, err := s.lifecycle().Status(s.t.Context())
	if err != nil || !st.IsLive() || st.Lease.Held {
		s.t.Errorf("the target is not live and free: %+v, %v, %+v", st.Observation, err, st.Lease)
	}
	if _, err := s.client().CoreV1().Secrets(s.namespace).Get(s.t.Context(), journal.ObjectName(s.namespace), metav1.GetOptions{}); err == nil {
		s.t.Error("the session object is left")
	}
	session, err := takeover.New(s.takeover())
	if err != nil {
		s.t.Fatal(err)
	}
	if doc, err := session.Pending(); !errors.Is(err, journal.ErrNone) {
		s.t.Errorf("the journal has %v, %v", doc, err)
	}
}

func (s *shop) specs() map[string]string {
	s.t.Helper()
	return map[string]string{"api": s.spec("api"), "mail": s.spec("mail")}
}
