package forward_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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

func TestForwardsToTheServicesPod(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "db", db())
	s.run(t, "db-1", "db", says("db-1"))
	r := s.start(t,
		forward.Forward{Service: "db", Port: intstr.FromInt32(80)},
		forward.Forward{Service: "db", Port: intstr.FromString("admin")})
	for i, want := range []string{"db-1:5432", "db-1:9000"} {
		c := dial(t, r.Addresses()[i])
		if got := line(t, c); got != want {
			t.Errorf("forward %d leads to %s, want %s", i, got, want)
		}
		// What is said before half of the connection is closed is answered.
		if _, err := c.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); err != nil || string(got) != "last words" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	state := r.await(t, func(s forward.Status) bool { return s.Pod == "db-1" && s.Connections == 0 })
	if state.Err != nil {
		t.Error(state.Err)
	}
}

func TestPortsStayTheSame(t *testing.T) {
	t.Parallel()
	bound := func(owner string) uint16 {
		f, err := forward.New(forward.Config{REST: &rest.Config{Host: "127.0.0.1:1"}, Owner: owner, Forwards: []forward.Forward{
			{Service: "stays", Namespace: "shop", Port: intstr.FromInt32(80)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return f.Addresses()[0].Bound
	}
	first := bound("one")
	if second := bound("one"); first != second || first < 20000 || first >= 30000 {
		t.Errorf("the port is %d and then %d", first, second)
	}
	// Another owner's is another one, whoever comes first.
	if other := bound("other"); other == first || other != bound("other") {
		t.Errorf("the port of another owner is %d", other)
	}
	// Where another process has it, the next one that follows from the name.
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if second, third := bound("one"), bound("one"); second == first || second != third {
		t.Errorf("beside %d the port is %d and then %d", first, second, third)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		l, err := net.Listen("tcp4", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		_, err = forward.New(forward.Config{REST: &rest.Config{Host: "127.0.0.1:1"}, Forwards: []forward.Forward{
			{Service: "db", Namespace: "shop", Port: intstr.FromInt32(80), Local: uint16(port)},
			{Service: "db", Port: intstr.FromInt32(80)},
		}})
		if !errors.Is(err, forward.ErrInUse) {
			t.Fatalf("%s: %v", host, err)
		}
		for _, want := range []string{"forward shop/db:80", fmt.Sprint("port ", port), "namespace", fmt.Sprintf("(process %d)", os.Getpid())} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error lacks %q: %v", want, err)
			}
		}
	}
}

func TestConnectionsFollowThePods(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "db", db())
	s.run(t, "db-1", "db", says("db-1"))
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)})
	open := dial(t, r.Addresses()[0])
	line(t, open)
	s.run(t, "db-2", "db", says("db-2"))
	// It stays with the pod that works.
	if got := line(t, dial(t, r.Addresses()[0])); got != "db-1:5432" {
		t.Errorf("a second connection goes to %s", got)
	}
	s.end(t, "db-1")
	if _, err := open.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection that was cut off ends with %v", err)
	}
	r.await(t, func(s forward.Status) bool { return s.Pod == "db-2" && s.Err == nil })
	if got := line(t, dial(t, r.Addresses()[0])); got != "db-2:5432" {
		t.Errorf("after its pod's end a connection goes to %s", got)
	}
	// While there is none it waits.
	s.end(t, "db-2")
	r.await(t, func(s forward.Status) bool { return s.Err != nil })
	waits := dial(t, r.Addresses()[0])
	s.run(t, "db-3", "db", says("db-3"))
	if got := line(t, waits); got != "db-3:5432" {
		t.Errorf("a connection that waited goes to %s", got)
	}
	r.await(t, func(s forward.Status) bool { return s.Pod == "db-3" && s.Err == nil })
}

// What stands still from end to end is seen, and works again as soon as it can.
func TestWedgedForwardIsNoticed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "db", db())
	s.run(t, "db-1", "db", says("db-1"))
	var wedged atomic.Bool
	release := make(chan struct{})
	s.peer.Refuse = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if !wedged.Load() {
			return false
		}
		select {
		case <-release:
			return false
		case <-r.Context().Done():
			return true
		}
	}
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)})
	open := dial(t, r.Addresses()[0])
	line(t, open)
	r.await(t, func(s forward.Status) bool { return s.Pod == "db-1" })

	wedged.Store(true)
	s.peer.Freeze("db-1")
	if _, err := open.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection that stands still ends with %v", err)
	}
	// Somebody connects: nobody else would notice before the next probe.
	if _, err := dial(t, r.Addresses()[0]).Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection that leads nowhere ends with %v", err)
	}
	state := r.await(t, func(s forward.Status) bool { return s.Err != nil })
	if state.Pod != "" {
		t.Errorf("it is said to lead to %s", state.Pod)
	}
	close(release)
	r.await(t, func(s forward.Status) bool { return s.Err == nil && s.Pod == "db-1" })
	if got := line(t, dial(t, r.Addresses()[0])); got != "db-1:5432" {
		t.Errorf("a new connection goes to %s", got)
	}
}

// A client that takes nothing holds nobody else up.
func TestStalledConnectionsAreAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "db", db())
	s.run(t, "db-1", "db", says("db-1"))
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)})
	for range 5 {
		c := dial(t, r.Addresses()[0])
		line(t, c)
		go func() { // it sends for ever, and reads nothing
			for {
				if _, err := c.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}()
	}
	for range 20 {
		c := dial(t, r.Addresses()[0])
		if got := line(t, c); got != "db-1:5432" {
			t.Errorf("got %s", got)
		}
		c.Close()
	}
	if n := s.peer.Made(); n > 30 {
		t.Errorf("%d port-forwards for 25 connections", n)
	}
}

func TestServicesThatCannotBeForwarded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "outside", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.org"})
	s.service(t, "empty", db())
	s.service(t, "names", corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP}}})
	s.service(t, "machine", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 5432}}})
	number, none := int32(5432), ""
	_, err := s.client.DiscoveryV1().EndpointSlices(s.namespace).Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "machine-1", Labels: map[string]string{discoveryv1.LabelServiceName: "machine"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &none, Port: &number}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		service string
		port    intstr.IntOrString
		want    string
	}{
		{"outside", intstr.FromInt32(80), "db.example.org"},
		{"empty", intstr.FromInt32(80), "no ready pod"},
		{"empty", intstr.FromString("metrics"), "80 (main), 81 (admin)"},
		{"names", intstr.FromInt32(53), "only TCP"},
		{"machine", intstr.FromInt32(5432), "no pods"},
		{"missing", intstr.FromInt32(80), "not found"},
	} {
		t.Run(tc.service+tc.port.String(), func(t *testing.T) {
			t.Parallel()
			r := s.start(t, forward.Forward{Service: tc.service, Port: tc.port})
			state := r.await(t, func(s forward.Status) bool { return s.Err != nil })
			if !strings.Contains(state.Err.Error(), tc.want) {
				t.Errorf("%v", state.Err)
			}
		})
	}
}

// Why a forward does not work is told, and also when that has become another reason.
func TestReasonsAreTold(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)})
	told := func(part string) {
		t.Helper()
		for late := time.After(patience); ; {
			select {
			case all := <-r.states:
				if err := all[0].Err; err != nil && strings.Contains(err.Error(), part) {
					return
				}
			case <-late:
				t.Fatalf("%q is not told; the state is %+v", part, r.State())
			}
		}
	}
	told("not found")
	s.service(t, "db", db())
	told("has no ready pod for port 80")
}
