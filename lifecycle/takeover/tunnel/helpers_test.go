package tunnel_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward/portforwardtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/tunnel"
)

const (
	// patience is how long something may take that has to happen.
	patience   = 2 * time.Minute
	agentImage = "registry.invalid/pharos-agent@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	port       = 8080
	deployment = "api"
)

// shop is a namespace with a Deployment whose pods run agents, in the process of the test.
type shop struct {
	client    kubernetes.Interface
	namespace string
	config    *rest.Config
	peer      *portforwardtest.Peer
	uid       types.UID
	session   wire.Session
	key       ed25519.PrivateKey

	mu     sync.Mutex
	agents map[string]*running
}

// running is the agent of one pod.
type running struct {
	stop  context.CancelFunc
	ended chan struct{}
	mu    sync.Mutex
	at    map[string]string // addresses that the agent listens on, to where that is
}

func newShop(t *testing.T, replicas int32) *shop {
	t.Helper()
	cluster := devtest.Cluster(t)
	s := &shop{client: devtest.Client(t, cluster.Config()), namespace: devtest.Namespace(t, cluster), agents: map[string]*running{}}
	s.session, s.key = newSession()
	s.peer = &portforwardtest.Peer{Dial: s.dial}
	front, err := portforwardtest.NewFront(cluster.Config(), s.peer)
	if err != nil {
		t.Fatal(err)
	}
	s.config = front.Config
	t.Cleanup(func() {
		for pod := range s.agents {
			s.peer.Cut(pod)
			s.kill(pod)
		}
		front.Close()
	})
	s.uid = deploy(t, s.client, s.namespace, replicas, corev1.Container{Name: "main", Image: agentImage})
	return s
}

// newSession is one whose process listens on port.
func newSession() (wire.Session, ed25519.PrivateKey) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return wire.Session{
		Version: wire.Version, ID: "s1",
		Key:     wire.EncodeKey(public),
		Control: wire.DefaultControl, Ports: []wire.Port{{Number: port}},
		Workload: "Deployment shop/api", Holder: "ann@laptop", Since: time.Now().UTC().Truncate(time.Second),
		Away: wire.DefaultAway, Drain: wire.DefaultDrain, Grace: wire.Duration(30 * time.Second),
	}, key
}

// deploy makes the Deployment and returns its UID.
func deploy(t *testing.T, client kubernetes.Interface, namespace string, replicas int32, c corev1.Container) types.UID {
	t.Helper()
	labels := map[string]string{"app": deployment}
	d, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: deployment},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{c}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.UID
}

// dial reaches a port of a pod, whose agent is started when it is first reached.
func (s *shop) dial(pod string, port uint16) (net.Conn, error) {
	s.mu.Lock()
	r := s.agents[pod]
	if r == nil {
		r = startAgent(s.session, pod)
		s.agents[pod] = r
	}
	s.mu.Unlock()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	if port != s.session.Control {
		address = fmt.Sprintf(":%d", port)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at[address] == "" {
		return nil, errors.New("connection refused")
	}
	return net.Dial("tcp", r.at[address])
}

func startAgent(session wire.Session, pod string) *running {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, ended: make(chan struct{}), at: map[string]string{}}
	listening := make(chan struct{}, 2)
	go func() {
		defer close(r.ended)
		_ = agent.Run(ctx, agent.Config{Session: session, Pod: pod, Listen: func(_ context.Context, address string) (net.Listener, error) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.at[address] = l.Addr().String()
			listening <- struct{}{}
			return l, nil
		}})
	}()
	<-listening
	<-listening
	return r
}

// kill ends the agent of a pod; the next one that is reached is another one.
func (s *shop) kill(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.agents[pod]; r != nil {
		r.stop()
		delete(s.agents, pod)
	}
}

// call connects to a pod as a caller in the cluster does.
func (s *shop) call(t *testing.T, pod string) *net.TCPConn {
	t.Helper()
	c, err := s.dial(pod, port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// ask sends a line and returns the answer's.
func ask(t *testing.T, c net.Conn, line string) string {
	t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		t.Fatal(err)
	}
	var answer []byte
	for b := make([]byte, 1); b[0] != '\n'; answer = append(answer, b[0]) {
		if _, err := c.Read(b); err != nil {
			t.Fatalf("asked %q, got %q: %v", line, answer, err)
		}
	}
	return strings.TrimSpace(string(answer))
}

// process is what runs on the workstation: it sends back what it gets, after a greeting with the port.
type process struct {
	listener net.Listener
	serve    func(c *net.TCPConn)
}

func newProcess(t *testing.T, serve func(*net.TCPConn)) *process {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			}()
		}
	}()
	return &process{listener: l, serve: serve}
}

// echo sends back what it gets.
func echo(c *net.TCPConn) { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}) }

func (p *process) dial(ctx context.Context, _ uint16) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", p.listener.Addr().String())
}

// started is a Tunnel that runs until the test's end.
type started struct {
	*tunnel.Tunnel
	changes chan tunnel.State
	end     func()
}

func (s *shop) tunnelConfig(p *process) tunnel.Config {
	return tunnel.Config{
		REST: s.config, Namespace: s.namespace, Deployment: deployment, UID: s.uid,
		Container: "main", AgentImage: agentImage, Session: s.session, Key: s.key, Dial: p.dial,
	}
}

func start(t *testing.T, c tunnel.Config, before ...func(*tunnel.Tunnel)) *started {
	t.Helper()
	r := &started{changes: make(chan tunnel.State, 1000)}
	c.Observed = func(s tunnel.State) { r.changes <- s }
	var err error
	if r.Tunnel, err = tunnel.New(c); err != nil {
		t.Fatal(err)
	}
	for _, f := range before {
		f(r.Tunnel)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.end)
	return r
}

// await waits for a state.
func (r *started) await(t *testing.T, want func(tunnel.State) bool) tunnel.State {
	t.Helper()
	late := time.After(patience)
	for {
		if s := r.State(); want(s) {
			return s
		}
		select {
		case <-r.changes:
		case <-late:
			t.Fatalf("the state is %+v", r.State())
		}
	}
}

// connected wants streams to so many pods, and to no others.
func connected(n int) func(tunnel.State) bool {
	return func(s tunnel.State) bool { return len(s.Pods) == n && s.Connected() == n }
}
