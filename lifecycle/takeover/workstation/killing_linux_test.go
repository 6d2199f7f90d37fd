package workstation_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// killing is a service that is taken over again and again, and what of it is killed.
type killing struct {
	*takeovertest.Shop
	t      *testing.T
	role   role
	folder string
	before string
}

// killed are the files of the service.
func killed(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"go.mod":      "module shop.example\n\ngo 1.26.0\n",
		"api/main.go": text(t, "api.go.txt"),
		"pharos.yaml": fmt.Sprintf(`apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  platforms: [linux/%s]
  build: {go: {package: ./api}}
  inputs: [api, go.mod]
  run: {go: {}, env: [PORT], set: {PLACE: workstation}, ports: [{port: 8080, local: %d, env: [PORT]}]}
delivery: [gitops/**, pharos.yaml]
`, runtime.GOARCH, freePort(t)),
		"gitops/api.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 2
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - name: main
        image: api
        env: [{name: PORT, value: "8080"}, {name: PLACE, value: cluster}]
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {port: http, path: /}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: api}
spec:
  selector: {app: api}
  ports: [{port: 80, targetPort: http}]
`,
	}
}

func newKilling(t *testing.T) *killing {
	t.Helper()
	n := devtest.Node(t)
	s := takeovertest.Deliver(t, n.Cluster, n.PushRegistry(), n.PullRegistry(), killed(t))
	controlled(t, s)
	k := killingOf(t, s)
	leases, ok := s.Lifecycle().Lease.(*lease.Manager)
	if !ok {
		t.Fatal("the lease is another one")
	}
	r, err := restore.New(restore.Config{REST: s.REST, Namespace: s.Namespace, Target: s.Namespace, Lease: leases, By: "the controller"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { _ = r.Watch(ctx, restore.WatchConfig{Every: time.Second}) })
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	return k
}

// killingOf is a service that is delivered, and whose source is edited then.
func killingOf(t *testing.T, s *takeovertest.Shop) *killing {
	t.Helper()
	k := &killing{Shop: s, t: t, before: s.Spec("api"), folder: workstation.Folder(s.Repository()),
		role: role{Kubeconfig: devtest.Kubeconfig(t, s.REST), Dir: s.Dir, Memory: t.TempDir()}}
	k.answers("v1 cluster false ")
	s.Write(map[string]string{"api/main.go": strings.Replace(text(t, "api.go.txt"), `answer = "v1"`, `answer = "v2"`, 1)})
	return k
}

// until waits until something is so.
func (k *killing) until(what string, is func() bool) {
	k.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !is(); {
		select {
		case <-tick.C:
		case <-late:
			k.t.Fatalf("it never came to this: %s", what)
		}
	}
}

// answers waits until the Service answers so.
func (k *killing) answers(begin string) {
	k.t.Helper()
	var answer []byte
	var err error
	k.until("the Service answers "+begin, func() bool {
		answer, err = k.Client().CoreV1().Services(k.Namespace).ProxyGet("http", "api", "80", "/", nil).DoRaw(k.t.Context())
		return err == nil && strings.HasPrefix(string(answer), begin)
	})
}

// diesAt runs a guardian that is killed at a step.
func (k *killing) diesAt(step journal.Step, short bool) {
	k.t.Helper()
	r := k.role
	if r.Die = step; short {
		r.Borrow = takeovertest.Short
	}
	if !killtest.Run(k.t, r) {
		k.t.Fatal("the guardian ended by itself")
	}
	if doc, err := takeover.Left(k.folder); err != nil || doc.Step != step {
		k.t.Fatalf("the journal has step %s, %v", doc.Step, err)
	}
}

// guardian starts one, and waits until it serves.
func (k *killing) guardian(r role) *guardian.Client {
	k.t.Helper()
	process := killtest.Command(k.t, r)
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	client, err := guardian.Start(ctx, guardian.StartConfig{Folder: k.folder, Program: process.Path, Env: process.Env})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		if now, err := guardian.Connect(context.Background(), k.folder); err == nil && now.PID() == client.PID() {
			_ = syscall.Kill(client.PID(), syscall.SIGKILL) // of a test that failed
		}
	})
	served, stop := context.WithCancel(ctx)
	defer stop()
	err = client.Attach(served, nil, func(l guardian.Line) error {
		if l.Event != nil && l.Event.Type == takeover.EventServing {
			stop()
		}
		return nil
	})
	if served.Err() == nil || ctx.Err() != nil {
		said, _ := os.ReadFile(filepath.Join(k.folder, guardian.LogName))
		k.t.Fatalf("it does not serve: %v\n%s", err, said)
	}
	return client
}

// finish hands back what a killed guardian has left.
func (k *killing) finish() {
	k.t.Helper()
	c, err := k.role.config(k.t.Context(), nil)
	if err != nil {
		k.t.Fatal(err)
	}
	s, err := takeover.New(c)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := s.Finish(k.t.Context()); err != nil {
		k.t.Errorf("handed back: %v", err)
	}
}

// wholeAgain waits until the target is as it was, with nobody there, and then has the
// checkout hear of it.
func (k *killing) wholeAgain() {
	k.t.Helper()
	k.until("the lease ends", func() bool {
		now, err := k.Lifecycle().Lease.Inspect(k.t.Context())
		return err == nil && !now.Held
	})
	k.until("the workload is as it was", func() bool { return k.Spec("api") == k.before })
	k.until("the session object is gone", func() bool {
		list, err := k.Client().CoreV1().Secrets(k.Namespace).List(k.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + journal.ObjectName(k.Namespace)})
		return err == nil && len(list.Items) == 0
	})
	k.rolledOut()
	k.answers("v1 cluster false ")
	if _, err := takeover.Left(k.folder); err != nil {
		k.t.Errorf("the journal does not say that a takeover was interrupted: %v", err)
	}
	k.finish()
}

// rolledOut waits until the pods are those of the spec.
func (k *killing) rolledOut() {
	k.t.Helper()
	k.until("the pods are those of the spec", func() bool {
		d, err := k.Client().AppsV1().Deployments(k.Namespace).Get(k.t.Context(), "api", metav1.GetOptions{})
		if err != nil {
			k.t.Fatal(err)
		}
		st := d.Status
		return st.ObservedGeneration == d.Generation && st.Replicas == 2 && st.UpdatedReplicas == 2 && st.AvailableReplicas == 2
	})
}

// whole wants nothing of a takeover to be left, on the target and here.
func (k *killing) whole() {
	k.t.Helper()
	k.Whole(map[string]string{"api": k.before})
	k.rolledOut()
	k.answers("v1 cluster false ")
	k.until("no process of the checkout is left", func() bool { return len(k.processes()) == 0 })
}

// processes are those whose program, or whose folder, is in the checkout.
func (k *killing) processes() (list []string) {
	k.t.Helper()
	for _, link := range []string{"exe", "cwd"} {
		links, err := filepath.Glob("/proc/[0-9]*/" + link)
		if err != nil {
			k.t.Fatal(err)
		}
		for _, l := range links {
			if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, k.Dir) {
				list = append(list, l+" "+to)
			}
		}
	}
	return list
}
