// Package takeovertest gives the tests of takeovers a repository and a target, and a
// workstation that runs nothing.
package takeovertest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
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

// services are the files of the shop but for its manifests.
func services() map[string]string {
	return map[string]string{
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
`,
	}
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

// target is the document of the target.
func (s *Shop) target(push, pull string) string {
	return fmt.Sprintf(`---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: %[1]s}
spec:
  namespace: %[1]s
  registry: {push: "%[2]s/%[1]s", pull: "%[3]s/%[1]s", insecure: true}
  overlay: gitops
`, s.Namespace, push, pull)
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

// Lifecycle is the target's.
func (s *Shop) Lifecycle() *lifecycle.Lifecycle {
	s.t.Helper()
	l, err := lifecycleOf(s.t.Context(), s.Dir, s.REST, lease.Timing{})
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// Short is of a lease that ends soon after its holder is gone, and lasts long enough for
// a machine that does much else.
var Short = lease.Timing{Duration: 20 * time.Second, RenewEvery: 3 * time.Second}

// lifecycleOf is the target's in a repository.
func lifecycleOf(ctx context.Context, dir string, config *rest.Config, borrow lease.Timing) (*lifecycle.Lifecycle, error) {
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
		Lease: lease.Config{Borrow: borrow, Margin: 2 * time.Second, Grace: time.Second, RetryPeriod: 200 * time.Millisecond}})
}

// Agents publishes nothing: no container runs on a hollow node.
type Agents struct{}

// Publish implements takeover.Agents.
func (Agents) Publish(_ context.Context, r takeover.AgentRequest) (string, error) {
	return "registry.example/shop/pharos-agent@" + Digest(r.Session.ID+r.Session.Workload), nil
}

// Remove implements takeover.Agents.
func (Agents) Remove(context.Context, string) error { return nil }

// Changed has the process of a workload say that its files were edited.
func (w *Workstation) Changed(name string) {
	w.mu.Lock()
	p := w.running[name]
	w.mu.Unlock()
	if p != nil {
		p.request.Observed(runtime.Event{Time: time.Now(), Type: runtime.EventChanged, Name: name})
	}
}

// Connections has the process of a workload say how many agents there are, and how many
// of them are connected.
func (w *Workstation) Connections(name string, connected, agents int) {
	w.mu.Lock()
	p := w.running[name]
	w.mu.Unlock()
	if p != nil {
		p.request.Changed(connected, agents)
	}
}

// Forwarded has the process of a workload say where Services are.
func (w *Workstation) Forwarded(name string, all ...takeover.ForwardStatus) {
	w.mu.Lock()
	p := w.running[name]
	w.mu.Unlock()
	if p != nil {
		p.request.Forwarded(all)
	}
}

// Permitted says whether a connection to a workload would be served now.
func (w *Workstation) Permitted(ctx context.Context, name string) error {
	w.mu.Lock()
	p := w.running[name]
	w.mu.Unlock()
	if p == nil {
		return errors.New("it does not run")
	}
	return p.request.Permit(ctx)
}

// Workstation serves every agent there is.
type Workstation struct {
	// Fail is the error of Start.
	Fail error

	mu        sync.Mutex
	running   map[string]*process
	recovered int
}

// Recover implements takeover.Workstation.
func (w *Workstation) Recover() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recovered++
	return nil
}

// Recovered is how often Recover was called.
func (w *Workstation) Recovered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recovered
}

// Start implements takeover.Workstation.
func (w *Workstation) Start(_ context.Context, r takeover.StartRequest) (takeover.Process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Fail != nil {
		return nil, w.Fail
	}
	if w.running == nil {
		w.running = map[string]*process{}
	}
	p := &process{request: r, of: w}
	w.running[r.Workload.Name] = p
	return p, nil
}

// Variables implements takeover.Workstation: it knows of nothing more than the plan.
func (w *Workstation) Variables(of takeover.Workload) ([]environment.Name, error) {
	return of.Environment, nil
}

// Names are the workloads that run.
func (w *Workstation) Names() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.running {
		names = append(names, name)
	}
	return names
}

type process struct {
	of      *Workstation
	request takeover.StartRequest
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

// Config is a session's in a checkout. Its lease is as borrow says; the default is
// that of package lease.
func Config(ctx context.Context, dir, namespace string, config *rest.Config, borrow lease.Timing) (takeover.Config, error) {
	l, err := lifecycleOf(ctx, dir, config, borrow)
	if err != nil {
		return takeover.Config{}, err
	}
	repo, err := source.Open(dir)
	if err != nil {
		return takeover.Config{}, err
	}
	return takeover.Config{
		Lifecycle: l, REST: config, Namespace: namespace, Folder: filepath.Join(repo.GitDir(), "pharos", "takeover"),
		Agents: Agents{}, Workstation: &Workstation{}, Timeout: 2 * time.Minute,
		Facts: func(ctx context.Context) (takeover.Facts, error) {
			tree, err := worktree.Snapshot(ctx, worktree.Config{Repository: repo})
			if err != nil {
				return takeover.Facts{}, err
			}
			return takeover.Read(ctx, takeover.Source{Lifecycle: l, REST: config, Repository: repo, Tree: tree,
				Controller: controllerOf(l)})
		},
	}, nil
}

// Config is that of a session in the checkout.
func (s *Shop) Config() takeover.Config {
	s.t.Helper()
	c, err := Config(s.t.Context(), s.Dir, s.Namespace, s.REST, lease.Timing{})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// Client is one for the API server.
func (s *Shop) Client() kubernetes.Interface { return devtest.Client(s.t, s.REST) }

// Spec is the Deployment's spec as it is on the target.
func (s *Shop) Spec(name string) string {
	s.t.Helper()
	d, err := s.Client().AppsV1().Deployments(s.Namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	doc, err := json.Marshal(d.Spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(doc)
}

// Whole wants the target to be as it was before, and nothing of a takeover to be left.
func (s *Shop) Whole(specs map[string]string) {
	s.t.Helper()
	session, err := takeover.New(s.Config())
	if err != nil {
		s.t.Fatal(err)
	}
	if doc, err := session.Pending(); !errors.Is(err, journal.ErrNone) {
		s.t.Errorf("the journal has %v, %v", doc, err)
	}
	for name, want := range specs {
		if got := s.Spec(name); got != want {
			s.t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	st, err := s.Lifecycle().Status(s.t.Context())
	if err != nil || !st.IsLive() || st.Lease.Held {
		s.t.Errorf("the target is not live and free: %+v, %v, %+v", st.Observation, err, st.Lease)
	}
	if len(st.Gate) > 0 || st.GateErr != nil {
		s.t.Errorf("of the lease's gate there is left: %+v, %v", st.Gate, st.GateErr)
	}
	if _, err := s.Client().CoreV1().Secrets(s.Namespace).Get(s.t.Context(), journal.ObjectName(s.Namespace), metav1.GetOptions{}); err == nil {
		s.t.Error("the session object is left")
	}
}

// Specs are those of both Deployments.
func (s *Shop) Specs() map[string]string {
	s.t.Helper()
	return map[string]string{"api": s.Spec("api"), "mail": s.Spec("mail")}
}

// Digest is one for a name.
func Digest(name string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(name))) }

// controllerOf is a controller that lives; where Argo CD delivers there is none.
func controllerOf(l *lifecycle.Lifecycle) func(context.Context) (takeover.Healer, error) {
	if l.Transport != nil {
		return nil
	}
	return func(context.Context) (takeover.Healer, error) {
		return takeover.Healer{Name: "the controller", Namespaces: []string{l.Target}}, nil
	}
}
