package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/keys"
)

// manyObjects is how many objects are applied: a fifth of each of five kinds.
const manyObjects = 500

// applies compares deliveries by server-side apply with kubectl, and with a loop
// that does nothing but send the same requests, as many at once.
func applies(ctx context.Context, b *bench) ([]comparison, error) {
	kubectl, err := devenv.Kubectl(ctx, b.progress)
	if err != nil {
		return nil, err
	}
	cluster, err := devenv.Start(ctx, devenv.Options{Output: b.progress})
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, cluster.Stop)
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return nil, err
	}
	dir, err := b.folder("apply")
	if err != nil {
		return nil, err
	}
	a := &applyCases{client: client, file: filepath.Join(dir, "objects.yaml")}
	if err := a.write("calm"); err != nil {
		return nil, err
	}
	ours := a.side("lifecycle/deliver/apply", func(ns string) command {
		return command{path: b.self, args: []string{childFlag, "apply", cluster.Kubeconfig(), a.file, ns, filepath.Join(dir, "seen-"+ns)}}
	})
	unknowing := a.side("lifecycle/deliver/apply", func(ns string) command {
		return command{path: b.self, args: []string{childFlag, "apply", cluster.Kubeconfig(), a.file, ns, ""}}
	})
	peer := a.side("kubectl apply --server-side", func(ns string) command {
		return command{path: kubectl, args: []string{"apply", "--server-side", "--namespace", ns, "--filename", a.file, "--cache-dir", filepath.Join(b.dir, "kubectl-cache")},
			env: []string{"KUBECONFIG=" + cluster.Kubeconfig()}}
	})
	bare := a.side("bare loop", func(ns string) command {
		return command{path: b.self, args: []string{childFlag, "apply-bare", cluster.Kubeconfig(), a.file, ns}}
	})
	name := fmt.Sprintf("apply %d objects", manyObjects)
	calls := func(s *applySide) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return apiCalls(ctx, cluster, s.command(), "pharos") }
	}
	return []comparison{
		{name: name + ", first time", ours: ours.first(), peer: peer.first(), cold: true},
		{name: name + ", unchanged", ours: ours.again(), peer: peer.again(), cold: true, note: calls(ours)},
		{name: name + ", one changed", ours: ours.changed(), peer: peer.changed(), cold: true},
		{name: name + ", first time", ours: unknowing.first(), peer: bare.first()},
		{name: name + ", unchanged, nothing known", ours: unknowing.again(), peer: bare.again(), note: calls(unknowing)},
	}, nil
}

// applyCases are the objects, and the namespaces that they are applied in.
type applyCases struct {
	client  kubernetes.Interface
	file    string
	counter atomic.Int32
}

func (a *applyCases) write(mode string) error {
	return os.WriteFile(a.file, []byte(applyDocs(mode)), 0o600)
}

// applyDocs are the objects; the mode is a value of the first one.
func applyDocs(mode string) string {
	var docs []string
	add := func(i int, doc string) {
		docs = append(docs, strings.NewReplacer("NAME", fmt.Sprintf("app%03d", i), "MODE", mode, "LABELS", keys.Target+": "+targetName).Replace(doc))
		mode = "calm"
	}
	for i := range manyObjects / 5 {
		add(i, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, labels: {LABELS}}\ndata: {mode: MODE, url: 'http://NAME', level: info}\n")
		add(i, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: NAME, labels: {LABELS}}\n")
		add(i, "apiVersion: v1\nkind: Service\nmetadata: {name: NAME, labels: {LABELS}}\nspec: {clusterIP: None, selector: {app: NAME}, ports: [{name: http, port: 80}]}\n")
		add(i, "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: NAME, labels: {LABELS}}\nrules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]\n")
		add(i, `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, labels: {LABELS}}
spec:
  replicas: 0
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      serviceAccountName: NAME
      containers:
      - name: app
        image: registry.local/app@sha256:1111111111111111111111111111111111111111111111111111111111111111
        ports: [{containerPort: 80}]
        envFrom: [{configMapRef: {name: NAME}}]
        resources: {requests: {cpu: 10m, memory: 16Mi}}
`)
	}
	return strings.Join(docs, "---\n")
}

// applySide is one way to apply, in a namespace of its own.
type applySide struct {
	cases *applyCases
	name  string
	of    func(namespace string) command
	ns    string
}

func (a *applyCases) side(name string, of func(string) command) *applySide {
	return &applySide{cases: a, name: name, of: of}
}

func (s *applySide) command() command { return s.of(s.ns) }

func (s *applySide) run(ctx context.Context) error { return s.command().run(ctx) }

// fresh makes a namespace with nothing in it.
func (s *applySide) fresh(ctx context.Context) error {
	s.ns = fmt.Sprintf("apply-%d", s.cases.counter.Add(1))
	_, err := s.cases.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}, metav1.CreateOptions{})
	return err
}

func (s *applySide) first() side { return side{name: s.name, before: s.fresh, run: s.run} }

// again applies what is there already, from before if the case did not bring it.
func (s *applySide) again() side {
	return side{name: s.name, before: func(ctx context.Context) error {
		if err := s.cases.write("calm"); err != nil {
			return err
		}
		return s.run(ctx)
	}, run: s.run}
}

func (s *applySide) changed() side {
	return side{name: s.name, before: func(ctx context.Context) error {
		if err := s.cases.write("calm"); err != nil {
			return err
		}
		if err := s.run(ctx); err != nil {
			return err
		}
		return s.cases.write(fmt.Sprintf("mode-%d", s.cases.counter.Add(1)))
	}, run: s.run}
}
