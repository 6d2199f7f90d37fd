package forward_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/forward"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward/portforwardtest"
)

// patience is how long something may take that has to happen.
const patience = 2 * time.Minute

// shop is a namespace of the API server whose pods are functions of the test.
type shop struct {
	client    kubernetes.Interface
	namespace string
	config    *rest.Config
	peer      *portforwardtest.Peer

	mu   sync.Mutex
	pods map[string]func(port uint16, c net.Conn)
}

func newShop(t *testing.T) *shop {
	t.Helper()
	cluster := devtest.Cluster(t)
	s := &shop{client: devtest.Client(t, cluster.Config()), namespace: devtest.Namespace(t, cluster), pods: map[string]func(uint16, net.Conn){}}
	s.peer = &portforwardtest.Peer{Dial: s.dial}

	front, err := portforwardtest.NewFront(cluster.Config(), s.peer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for pod := range s.pods {
			s.peer.Cut(pod)
		}
		front.Close()
	})
	s.config = front.Config
	return s
}

// dial has the pod serve a new connection.
func (s *shop) dial(pod string, port uint16) (net.Conn, error) {
	s.mu.Lock()
	serve := s.pods[pod]
	s.mu.Unlock()
	if serve == nil {
		return nil, errors.New("connection refused")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	accepted := make(chan struct{})
	go func() {
		c, err := l.Accept()
		close(accepted)
		if err != nil {
			return
		}
		defer c.Close()
		serve(port, c)
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		<-accepted
	}
	return c, err
}

// says is a pod that says its name and port, and then sends back what it gets.
func says(name string) func(uint16, net.Conn) {
	return func(port uint16, c net.Conn) {
		fmt.Fprintf(c, "%s:%d\n", name, port)
		_, _ = io.Copy(c, c)
	}
}

// run makes a pod behind the label app, which is ready.
func (s *shop) run(t *testing.T, name, app string, serve func(uint16, net.Conn)) {
	t.Helper()
	s.mu.Lock()
	s.pods[name] = serve
	s.mu.Unlock()
	_, err := s.client.CoreV1().Pods(s.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.invalid/x",
			Ports: []corev1.ContainerPort{{Name: "sql", ContainerPort: 5432}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shop) end(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	delete(s.pods, name)
	s.mu.Unlock()
	now := int64(0)
	if err := s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	s.peer.Cut(name)
}

func (s *shop) service(t *testing.T, name string, spec corev1.ServiceSpec) {
	t.Helper()
	_, err := s.client.CoreV1().Services(s.namespace).Create(t.Context(),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// db is a Service with one port whose target is named.
func db() corev1.ServiceSpec {
	return corev1.ServiceSpec{Selector: map[string]string{"app": "db"}, Ports: []corev1.ServicePort{
		{Name: "main", Port: 80, TargetPort: intstr.FromString("sql")},
		{Name: "admin", Port: 81, TargetPort: intstr.FromInt32(9000)},
	}}
}

// started is a Forwarder that runs until the test's end.
type started struct {
	*forward.Forwarder
	states chan []forward.Status
}

func (s *shop) start(t *testing.T, forwards ...forward.Forward) *started {
	t.Helper()
	r := &started{states: make(chan []forward.Status, 1000)}
	for i := range forwards {
		forwards[i].Namespace = s.namespace
	}
	var err error
	r.Forwarder, err = forward.New(forward.Config{REST: s.config, Forwards: forwards, Observed: func(all []forward.Status) { r.states <- all }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// await waits for a state of the first forward.
func (r *started) await(t *testing.T, want func(forward.Status) bool) forward.Status {
	t.Helper()
	late := time.After(patience)
	for {
		if s := r.State()[0]; want(s) {
			return s
		}
		select {
		case <-r.states:
		case <-late:
			t.Fatalf("the state is %+v", r.State())
		}
	}
}

func dial(t *testing.T, a forward.Address) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", a.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// line reads what a pod says of itself.
func line(t *testing.T, c net.Conn) string {
	t.Helper()
	var s strings.Builder
	b := make([]byte, 1)
	for {
		if _, err := c.Read(b); err != nil {
			t.Fatalf("after %q: %v", s.String(), err)
		}
		if b[0] == '\n' {
			return s.String()
		}
		s.WriteByte(b[0])
	}
}
