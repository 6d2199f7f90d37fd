package agent_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/image"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/tunnel"
)

// patience bounds a wait for pods; a run that works never comes near it.
const patience = 5 * time.Minute

// images is what the node pulls from.
type images struct {
	registry   *registry.Registry
	builder    *golang.Builder
	push, pull string
}

func newImages(t *testing.T, n *devenv.Node, ns string) images {
	t.Helper()
	r, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := golang.New(golang.Config{Registry: r, Env: os.Environ(), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return images{registry: r, builder: b, push: n.PushRegistry() + "/" + ns, pull: n.PullRegistry() + "/" + ns}
}

const platform = "linux/" + runtime.GOARCH

// agent publishes the agent of a session.
func (i images) agent(t *testing.T, s wire.Session) string {
	t.Helper()
	publisher, err := image.New(image.Config{Builder: i.builder, Registry: i.registry, Push: i.push, Pull: i.pull})
	if err != nil {
		t.Fatal(err)
	}
	ref, _, err := publisher.Publish(t.Context(), s, []string{platform}, "1000")
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// caller builds testdata/caller.go.txt.
func (i images) caller(t *testing.T) string {
	t.Helper()
	program, err := os.ReadFile("testdata/caller.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := source.FromFiles(map[string]source.File{
		"go.mod":  {Content: "module example.com/caller\n\ngo 1.26.0\n"},
		"main.go": {Content: string(program)},
		catalogue.FileName: {Content: "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: caller\n" +
			"  build: {go: {package: .}}\n  inputs: [main.go, go.mod]\n  platforms: [" + platform + "]\n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalogue.Load(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	built, err := i.builder.Build(t.Context(), lifecycle.BuildRequest{
		State: states[0], Full: tree, Repository: i.push + "/caller", Output: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return i.pull + "/caller@" + string(built.Digest)
}

// taken is a Deployment of two pods whose container an agent has the place of, with
// every kind of probe, hooks, and as little as a pod may have.
func taken(ref string, probe func(corev1.ProbeHandler) *corev1.Probe) *appsv1.Deployment {
	two, yes, no := int32(2), true, false
	labels := map[string]string{"app": "api"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "api"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &two,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot:   &yes,
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: "api", Image: ref, Command: []string{wire.BinaryPath}, Args: []string{"--port=8080"},
						Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {ContainerPort: 9090}},
						SecurityContext: &corev1.SecurityContext{
							ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no,
							Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
						Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
							corev1.ResourceMemory: resource.MustParse("64Mi"),
						}},
						StartupProbe:   probe(corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{wire.BinaryPath, wire.CommandProbe}}}),
						ReadinessProbe: probe(corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")}}),
						LivenessProbe:  probe(corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9090}}),
						Lifecycle: &corev1.Lifecycle{
							PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{wire.BinaryPath, wire.CommandHook}}},
							PreStop:   &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{wire.BinaryPath, wire.CommandHook}}},
						},
					}},
				},
			},
		},
	}
}

// Pods of the agent run with few rights and are ready though nobody serves; a
// Service's callers reach a process outside of the cluster, and none of them fails
// while a pod is replaced.
func TestNode(t *testing.T) {
	t.Parallel()
	n := devtest.Node(t)
	client, ns := devtest.Client(t, n.Config()), devtest.Namespace(t, n.Cluster)
	key := newKey(t)
	session := newSession(key,
		wire.Port{Number: 8080, Name: "http", Probes: []string{wire.ProbeHTTP}},
		wire.Port{Number: 9090, Probes: []string{wire.ProbeGRPC}})
	from := newImages(t, n, ns)
	ref := from.agent(t, session)
	deployment, err := client.AppsV1().Deployments(ns).Create(t.Context(), taken(ref, func(h corev1.ProbeHandler) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: h, PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: 3}
	}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service, err := client.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "api"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "api"},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitReady(t, client, ns)

	var enough atomic.Bool
	process := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if enough.Load() {
			w.Header().Set("Enough", "yes")
		}
		w.Write(body)
	}))
	defer process.Close()
	dial := to(process.Listener.Addr().String())
	connected := make(chan int, 100)
	workstation, err := tunnel.New(tunnel.Config{
		REST: n.Config(), Namespace: ns, Deployment: "api", UID: deployment.UID, Container: "api", AgentImage: ref,
		Session: session, Key: key,
		Dial:     func(_ context.Context, port uint16) (net.Conn, error) { return dial(port) },
		Observed: func(s tunnel.State) { connected <- s.Connected() },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := workstation.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer stop()
	for <-connected < 2 {
	}

	caller := call(t, client, ns, from.caller(t), "http://"+service.Spec.ClusterIP+"/")
	replace(t, client, ns)
	enough.Store(true)
	if got := outcomeOf(t, client, ns, caller); !regexp.MustCompile(`^failed 0 of \d+\n$`).MatchString(got) {
		t.Errorf("the callers: %.2000s", got)
	} else {
		t.Log(got)
	}
	pods := waitReady(t, client, ns)
	for _, pod := range pods {
		if restarts := pod.Status.ContainerStatuses[0].RestartCount; restarts != 0 {
			t.Errorf("pod %s was restarted %d times: its probes failed", pod.Name, restarts)
		}
	}
}

// waitReady waits for two ready pods of the Deployment, and none that ends.
func waitReady(t *testing.T, client kubernetes.Interface, ns string) []corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := client.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{LabelSelector: "app=api"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for {
		pods, err := client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: "app=api"})
		if err != nil {
			t.Fatal(err)
		}
		ready := 0
		for _, pod := range pods.Items {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
					ready++
				}
			}
		}
		if ready == 2 && len(pods.Items) == 2 {
			return pods.Items
		}
		if _, ok := <-w.ResultChan(); !ok {
			t.Fatalf("the pods are not ready: %+v", pods.Items)
		}
	}
}

// replace deletes a pod as a rollout does, and waits until another has its place.
func replace(t *testing.T, client kubernetes.Interface, ns string) {
	t.Helper()
	pod := waitReady(t, client, ns)[0]
	err := client.CoreV1().Pods(ns).Delete(t.Context(), pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range waitReady(t, client, ns) {
		if p.UID == pod.UID {
			t.Fatalf("pod %s is still there", p.Name)
		}
	}
}

// call has a pod post to an address.
func call(t *testing.T, client kubernetes.Interface, ns, caller, address string) string {
	t.Helper()
	pod, err := client.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "caller"},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: caller, Args: []string{address}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitPod(t, client, ns, pod.Name, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning || ended(p) })
	return pod.Name
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func outcomeOf(t *testing.T, client kubernetes.Interface, ns, name string) string {
	t.Helper()
	awaitPod(t, client, ns, name, ended)
	out, err := client.CoreV1().Pods(ns).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func awaitPod(t *testing.T, client kubernetes.Interface, ns, name string, is func(*corev1.Pod) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := client.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last *corev1.Pod
	for e := range w.ResultChan() {
		if pod, ok := e.Object.(*corev1.Pod); ok {
			if last = pod; is(pod) {
				return
			}
		}
	}
	t.Fatal(strings.TrimSpace(fmt.Sprintf("pod %s: %+v", name, last)))
}
