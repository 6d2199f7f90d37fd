package workstation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
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
	k := &killing{Shop: s, t: t, before: s.Spec("api"), folder: workstation.Folder(s.Repository()),
		role: role{Kubeconfig: devtest.Kubeconfig(t, s.REST), Dir: s.Dir, Memory: t.TempDir()}}
	k.answers("v1 cluster false ")
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

// command is a process with that role.
func (k *killing) command(ctx context.Context, r role) *exec.Cmd {
	k.t.Helper()
	program, env := k.program(r)
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = env
	return cmd
}

func (k *killing) program(r role) (path string, env []string) {
	k.t.Helper()
	doc, err := json.Marshal(r)
	if err != nil {
		k.t.Fatal(err)
	}
	if path, err = os.Executable(); err != nil {
		k.t.Fatal(err)
	}
	return path, append(os.Environ(), roleEnv+"="+string(doc))
}

// diesAt runs a guardian that is killed at a step.
func (k *killing) diesAt(step journal.Step, short bool) {
	k.t.Helper()
	r := k.role
	r.Die, r.Short = step, short
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	out, err := k.command(ctx, r).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Exited() || ctx.Err() != nil {
		k.t.Fatalf("the guardian ended by itself: %v\n%s", err, out)
	}
	if doc, err := takeover.Left(k.folder); err != nil || doc.Step != step {
		k.t.Fatalf("the journal has step %s, %v", doc.Step, err)
	}
}

// guardian starts one, and waits until it serves.
func (k *killing) guardian(r role) *guardian.Client {
	k.t.Helper()
	program, env := k.program(r)
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	client, err := guardian.Start(ctx, guardian.StartConfig{Folder: k.folder, Program: program, Env: env})
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

// The guardian is killed at the steps that matter most. What it has left is gone on with,
// or handed back, or ends with its lease where nobody comes back, and the service is what
// it was.
func TestNodeGuardianKilled(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	endings := []struct {
		name string
		end  func(journal.Step)
	}{
		{"resume", k.resume},
		{"hand back", func(journal.Step) { k.finish() }},
		{"nobody", func(journal.Step) { k.wholeAgain() }},
	}
	steps := []journal.Step{journal.Leased, journal.Recorded, journal.Diverted, journal.Serving, journal.HandingBack, journal.Restored}
	for i, step := range steps {
		for j, e := range endings {
			if os.Getenv("PHAROS_TEST_SIZE") != "full" && (i+j)%len(endings) != 2 {
				continue // each step has one ending, and a lost laptop is one that served
			}
			t.Logf("%s, %s", step, e.name)
			k.diesAt(step, e.name == "nobody")
			e.end(step)
			k.whole()
		}
	}
}

// resume goes on with what a killed guardian has left, and hands back, if that had not
// begun.
func (k *killing) resume(step journal.Step) {
	k.t.Helper()
	if step == journal.HandingBack || step == journal.Restored {
		ctx, cancel := context.WithTimeout(k.t.Context(), patience)
		defer cancel()
		if out, err := k.command(ctx, k.role).CombinedOutput(); err != nil {
			k.t.Errorf("it ended with %v\n%s", err, out)
		}
		return
	}
	client := k.guardian(k.role)
	k.answers("v2 workstation false ")
	if err := client.HandBack(k.t.Context()); err != nil {
		k.t.Errorf("hand back: %v", err)
	}
}

// While a service is served from a workstation there are killed the terminal, the
// process, a pod, an agent and all connections to the API server, and the kubelet does
// nothing while it is handed back.
func TestNodeServingKilled(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	n := devtest.Node(t)
	way := newWay(t, k.REST)
	r := k.role
	r.Kubeconfig = devtest.Kubeconfig(t, way.config(k.REST))
	client := k.guardian(r)
	k.answers("v2 workstation false ")

	terminal := r
	terminal.Terminal = true
	watching := k.command(t.Context(), terminal)
	out, err := watching.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watching.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Errorf("the terminal shows nothing: %v", err)
	}
	_ = watching.Process.Kill()
	_ = watching.Wait()
	process := k.process(client)

	kill(t, process.pid)
	k.until("the process runs again", func() bool { return k.process(client).generation > process.generation })
	k.answers("v2 workstation false ")

	pods := k.pods()
	if err := k.Client().CoreV1().Pods(k.Namespace).Delete(t.Context(), pods[0].name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k.until("another pod is there", func() bool { return !k.has(pods[0].name) })
	k.rolledOut()
	k.answers("v2 workstation false ")

	for _, pod := range k.pods() {
		kill(t, k.find("the agent of pod "+pod.name, func(process string) bool {
			command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
			cgroup, _ := os.ReadFile(filepath.Join(process, "cgroup"))
			uid := strings.ReplaceAll(pod.uid, "-", "_")
			return bytes.HasPrefix(command, []byte(wire.BinaryPath)) && (bytes.Contains(cgroup, []byte(uid)) || bytes.Contains(cgroup, []byte(pod.uid)))
		}))
		k.until("the agent runs again", func() bool {
			p, err := k.Client().CoreV1().Pods(k.Namespace).Get(t.Context(), pod.name, metav1.GetOptions{})
			return err == nil && len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount > 0 && p.Status.ContainerStatuses[0].Ready
		})
	}
	k.answers("v2 workstation false ")

	way.cut()
	way.mend()
	k.answers("v2 workstation false ")
	if now, err := client.Status(t.Context()); err != nil || len(now.Workloads) != 1 || !now.Workloads[0].Serving {
		t.Errorf("after all that it is %+v, %v", now, err)
	}

	node, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", n.InitPID()))
	if err != nil {
		t.Fatal(err)
	}
	kubelet := k.find("the kubelet", func(process string) bool {
		program, _ := os.Readlink(filepath.Join(process, "exe"))
		in, _ := os.Readlink(filepath.Join(process, "ns", "pid"))
		return filepath.Base(program) == "kubelet" && in == node
	})
	if err := syscall.Kill(kubelet, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(kubelet, syscall.SIGCONT) })
	ended := make(chan error, 1)
	go func() { ended <- client.HandBack(t.Context()) }()
	k.until("the workload is as it was", func() bool { return k.Spec("api") == k.before })
	select {
	case err := <-ended:
		t.Errorf("it is handed back, and no pod can have been replaced: %v", err)
	default:
	}
	if err := syscall.Kill(kubelet, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("handed back: %v", err)
	}
	k.whole()
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill process %d: %v", pid, err)
	}
}

// find is the one process that is so.
func (k *killing) find(what string, is func(process string) bool) int {
	k.t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, process := range processes {
		if !is(process) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil {
			k.t.Fatal(err)
		}
		return pid
	}
	k.t.Fatalf("no process is %s", what)
	return 0
}

type processState struct{ pid, generation int }

// process is the service's on this machine.
func (k *killing) process(client *guardian.Client) processState {
	k.t.Helper()
	st, err := client.Status(k.t.Context())
	if err != nil || len(st.Workloads) != 1 || st.Workloads[0].Process == nil {
		k.t.Fatalf("the status is %+v, %v", st, err)
	}
	p := st.Workloads[0].Process
	return processState{p.PID, p.Generation}
}

type podName struct{ name, uid string }

// pods are those of the service.
func (k *killing) pods() (list []podName) {
	k.t.Helper()
	pods, err := k.Client().CoreV1().Pods(k.Namespace).List(k.t.Context(), metav1.ListOptions{LabelSelector: "app=api"})
	if err != nil || len(pods.Items) == 0 {
		k.t.Fatalf("the pods are %v, %v", pods, err)
	}
	for _, p := range pods.Items {
		list = append(list, podName{p.Name, string(p.UID)})
	}
	return list
}

func (k *killing) has(name string) bool {
	k.t.Helper()
	for _, p := range k.pods() {
		if p.name == name {
			return true
		}
	}
	return false
}
