package tunnel_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/image"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward"
	"github.com/pharos-dev/pharos/lifecycle/takeover/tunnel"
)

// rights are those that the package's documentation lists.
var rights = devtest.Rights{Namespaced: []rbacv1.PolicyRule{
	{APIGroups: []string{"apps"}, Resources: []string{"deployments", "replicasets"}, Verbs: []string{"get"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"get", "create"}},
}}

// publish publishes the agent of a session for the node.
func publish(t *testing.T, n *devenv.Node, ns string, s wire.Session) string {
	t.Helper()
	r, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	builder, err := golang.New(golang.Config{Registry: r, Env: os.Environ(), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	publisher, err := image.New(image.Config{Builder: builder, Registry: r, Push: n.PushRegistry() + "/" + ns, Pull: n.PullRegistry() + "/" + ns})
	if err != nil {
		t.Fatal(err)
	}
	ref, _, err := publisher.Publish(t.Context(), s, []string{"linux/" + runtime.GOARCH}, "1000")
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// onNode is a Deployment on the node with agents in it.
type onNode struct {
	node      *devenv.Node
	client    kubernetes.Interface
	namespace string
	config    tunnel.Config
	reach     *portforward.Dialer
}

func newOnNode(t *testing.T, replicas int32) *onNode {
	t.Helper()
	n := devtest.Node(t)
	o := &onNode{node: n, client: devtest.Client(t, n.Config()), namespace: devtest.Namespace(t, n.Cluster)}
	session, key := newSession()
	ref := publish(t, n, o.namespace, session)
	uid := deploy(t, o.client, o.namespace, replicas, corev1.Container{
		Name: "main", Image: ref, Ports: []corev1.ContainerPort{{ContainerPort: port}},
	})
	user, _ := devtest.User(t, n.Cluster, o.namespace, rights)
	o.config = tunnel.Config{
		REST: user, Namespace: o.namespace, Deployment: deployment, UID: uid,
		Container: "main", AgentImage: ref, Session: session, Key: key,
	}
	var err error
	if o.reach, err = portforward.New(n.Config()); err != nil {
		t.Fatal(err)
	}
	return o
}

// call connects to a pod's port as a caller in it does.
func (o *onNode) call(t *testing.T, pod string) net.Conn {
	t.Helper()
	c, err := o.reach.Connect(t.Context(), o.namespace, pod)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := c.Open(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// kill kills the agent of a pod, which the kubelet then starts again.
func (o *onNode) kill(t *testing.T, pod tunnel.Pod) {
	t.Helper()
	uid := strings.ReplaceAll(string(pod.UID), "-", "_")
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		cgroup, _ := os.ReadFile(filepath.Join(process, "cgroup"))
		in := bytes.Contains(cgroup, []byte(uid)) || bytes.Contains(cgroup, []byte(pod.UID))
		if !bytes.HasPrefix(command, []byte(wire.BinaryPath)) || !in {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no process is the agent of pod %s", pod.Name)
}

func TestNodeStreams(t *testing.T) {
	t.Parallel()
	o := newOnNode(t, 3)
	o.config.Dial = newProcess(t, echo).dial
	for _, protocol := range []portforward.Protocol{portforward.WebSocket, portforward.SPDY} {
		r := start(t, o.config, func(r *tunnel.Tunnel) { tunnel.Only(t, r, protocol) })
		for _, pod := range r.await(t, connected(3)).Pods {
			if pod.Protocol != string(protocol) {
				t.Errorf("the stream came about by %s, want %s", pod.Protocol, protocol)
			}
			if got := ask(t, o.call(t, pod.Name), "hello "+pod.Name); got != "hello "+pod.Name {
				t.Errorf("got %q", got)
			}
		}
		r.end()
	}

	r := start(t, o.config)
	before := r.await(t, connected(3)).Pods
	// An agent that is killed comes again in the same pod, with another key.
	o.kill(t, before[0])
	r.await(t, func(s tunnel.State) bool {
		return len(s.Pods) > 0 && s.Pods[0].UID == before[0].UID && !s.Pods[0].Connected.IsZero() && s.Pods[0].Connected.After(before[0].Connected)
	})
	if got := ask(t, o.call(t, before[0].Name), "again"); got != "again" {
		t.Errorf("got %q", got)
	}
	// A pod that is deleted says so, serves until it is gone, and is followed by another one.
	if err := o.client.CoreV1().Pods(o.namespace).Delete(t.Context(), before[1].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := false
	r.await(t, func(s tunnel.State) bool {
		there := false
		for _, p := range s.Pods {
			if p.UID == before[1].UID {
				there = true
				if p.Draining && !p.Connected.IsZero() {
					gone = true
				}
			}
		}
		return !there && connected(3)(s)
	})
	if !gone {
		t.Error("the pod that was deleted did not say that it drains while it had a stream")
	}
	for _, pod := range r.State().Pods {
		if got := ask(t, o.call(t, pod.Name), "after"); got != "after" {
			t.Errorf("got %q", got)
		}
	}
}

// Bytes go both ways at once, exactly, and memory stays within bounds while thousands of connections are open.
func TestNodeCarriesMuch(t *testing.T) {
	t.Parallel()
	o := newOnNode(t, 1)
	o.config.Dial = newProcess(t, echo).dial
	r := start(t, o.config)
	pod := r.await(t, connected(1)).Pods[0]
	conn, err := o.reach.Connect(t.Context(), o.namespace, pod.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	const streams, size = 8, 4 << 20
	var group sync.WaitGroup
	for i := range streams {
		group.Go(func() {
			s, err := conn.Open(t.Context(), port)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			want := bytes.Repeat([]byte(fmt.Sprintf("%07d\n", i)), size/8)
			go func() { _, _ = s.Write(want) }()
			got := make([]byte, size)
			if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("other bytes came back: %v", err)
			}
		})
	}
	group.Wait()
}
