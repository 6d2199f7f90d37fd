package tunnel_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward"
	"github.com/pharos-dev/pharos/lifecycle/takeover/tunnel"
)

func TestEveryPodStreams(t *testing.T) {
	t.Parallel()
	s := newShop(t, 3)
	// Pods with the same labels that are none of the Deployment's, or run something else.
	for name, of := range map[string]string{"stray": agentImage, "other": "registry.invalid/other"} {
		_, err := s.client.CoreV1().Pods(s.namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": deployment}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: of}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, s.tunnelConfig(newProcess(t, echo)))
	state := r.await(t, connected(3))
	for _, pod := range state.Pods {
		if pod.Protocol != string(portforward.SPDY) || pod.Err != nil || pod.UID == "" {
			t.Errorf("%+v", pod)
		}
		c := s.call(t, pod.Name)
		if got := ask(t, c, "to "+pod.Name); got != "to "+pod.Name {
			t.Errorf("got %q", got)
		}
		// Each direction ends by itself.
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(c); err != nil || len(rest) != 0 {
			t.Errorf("after the end: %q, %v", rest, err)
		}
	}

	// Pods come and go.
	scale(t, s, 4)
	state = r.await(t, connected(4))
	last := state.Pods[3].Name
	if got := ask(t, s.call(t, last), "hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
	scale(t, s, 1)
	r.await(t, connected(1))
}

func scale(t *testing.T, s *shop, replicas int32) {
	t.Helper()
	patch := []byte(`{"spec":{"replicas":` + string('0'+rune(replicas)) + `}}`)
	if _, err := s.client.AppsV1().Deployments(s.namespace).Patch(t.Context(), deployment, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A stream that is lost is told, and made again; connections in it are cut off, not ended.
func TestLostStreams(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*shop, string){
		"cut":    func(s *shop, pod string) { s.peer.Cut(pod) },
		"frozen": func(s *shop, pod string) { s.peer.Freeze(pod) },
		"killed": func(s *shop, pod string) { s.kill(pod); s.peer.Cut(pod) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, 1)
			cut := make(chan error, 1)
			r := start(t, s.tunnelConfig(newProcess(t, func(c *net.TCPConn) {
				_, err := io.Copy(c, c)
				cut <- err
			})))
			pod := r.await(t, connected(1)).Pods[0]
			c := s.call(t, pod.Name)
			ask(t, c, "hello")
			lose(s, pod.Name)
			state := r.await(t, func(s tunnel.State) bool { return len(s.Pods) == 1 && s.Pods[0].Err != nil })
			if !state.Pods[0].Connected.IsZero() {
				t.Errorf("it is said to have a stream: %+v", state.Pods[0])
			}
			if err := <-cut; err == nil {
				t.Error("the process saw its connection end, and not that it was cut off")
			}
			if name == "killed" {
				// Another agent answers in a container that was not started again.
				state = r.await(t, func(s tunnel.State) bool { return errors.Is(s.Pods[0].Err, tunnel.ErrHostKey) })
				restarted(t, s, pod.Name)
			}
			r.await(t, connected(1))
			if got := ask(t, s.call(t, pod.Name), "again"); got != "again" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// restarted has the container of a pod be one that was started again.
func restarted(t *testing.T, s *shop, pod string) {
	t.Helper()
	p, err := s.client.CoreV1().Pods(s.namespace).Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Status.ContainerStatuses[0].RestartCount++
	if _, err := s.client.CoreV1().Pods(s.namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	var dialled atomic.Int32
	p := newProcess(t, echo)
	config := s.tunnelConfig(p)
	config.Dial = func(ctx context.Context, port uint16) (net.Conn, error) {
		dialled.Add(1)
		return p.dial(ctx, port)
	}
	r := start(t, config, func(r *tunnel.Tunnel) {
		if err := r.Hold(t.Context()); err != nil {
			t.Error(err)
		}
	})
	pod := r.await(t, connected(1)).Pods[0].Name
	c := s.call(t, pod)
	if _, err := io.WriteString(c, "early\n"); err != nil {
		t.Fatal(err)
	}
	if err := r.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, "late"); got != "early" || dialled.Load() != 1 {
		t.Errorf("got %q, the process was dialled %d times", got, dialled.Load())
	}
	// Open connections go on, and a stream that is new holds as well.
	if err := r.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, "still"); got != "late" {
		t.Errorf("got %q", got)
	}
	s.peer.Cut(pod)
	r.await(t, func(s tunnel.State) bool { return s.Pods[0].Err != nil })
	r.await(t, connected(1))
	if !r.State().Held {
		t.Error("it does not say that it holds")
	}
	c = s.call(t, pod)
	if _, err := io.WriteString(c, "waits\n"); err != nil {
		t.Fatal(err)
	}
	// What is said to the agent is said after it has been told to hold.
	if err := r.Hold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := dialled.Load(); n != 1 {
		t.Errorf("the process was dialled %d times, want once", n)
	}
	if err := r.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, ""); got != "waits" {
		t.Errorf("got %q", got)
	}
}

func TestPermit(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	config := s.tunnelConfig(newProcess(t, echo))
	refused, asked := errors.New("the lease is another's"), make(chan struct{}, 100)
	var permitted atomic.Bool
	config.Permit = func(context.Context) error {
		asked <- struct{}{}
		if permitted.Load() {
			return nil
		}
		return refused
	}
	r := start(t, config)
	pod := r.await(t, connected(1)).Pods[0].Name
	<-asked
	if err := r.Serve(t.Context()); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	c := s.call(t, pod)
	permitted.Store(true)
	if got := ask(t, c, "hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
	if err := r.Serve(t.Context()); err != nil {
		t.Error(err)
	}
}

// Many connections at once, some of whose process takes nothing, hold nobody up.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	stalled := make(chan struct{})
	t.Cleanup(func() { close(stalled) })
	r := start(t, s.tunnelConfig(newProcess(t, func(c *net.TCPConn) {
		b := make([]byte, 1)
		if _, err := io.ReadFull(c, b); err != nil || b[0] == 's' {
			<-stalled
			return
		}
		_, _ = c.Write(b)
		echo(c)
	})))
	pod := r.await(t, connected(1)).Pods[0].Name
	for range 20 {
		c := s.call(t, pod)
		go func() { // until the test's end
			for {
				if _, err := c.Write([]byte(strings.Repeat("s", 1<<16))); err != nil {
					return
				}
			}
		}()
	}
	var group sync.WaitGroup
	open := make([]*net.TCPConn, 1000)
	for i := range open {
		open[i] = s.call(t, pod)
	}
	for _, c := range open {
		group.Go(func() {
			if got := ask(t, c, "hello"); got != "hello" {
				t.Errorf("got %q", got)
			}
		})
	}
	group.Wait()
	if n := r.State().Pods[0].Open; n < 1000 {
		t.Errorf("%d connections are open, want 1000", n)
	}
}

// Connections have a while to end with the Tunnel, and nothing is left of it.
func TestDrains(t *testing.T) {
	t.Parallel()
	s := newShop(t, 2)
	config := s.tunnelConfig(newProcess(t, echo))
	config.Drain = patience
	r := start(t, config)
	pods := r.await(t, connected(2)).Pods
	c := s.call(t, pods[0].Name)
	ask(t, c, "hello")
	ended := make(chan struct{})
	go func() {
		r.end()
		close(ended)
	}()
	if got := ask(t, c, "last words"); got != "last words" {
		t.Errorf("got %q", got)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) != 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	<-ended
	if n := r.State().Pods; len(n) != 0 && (n[0].Open != 0) {
		t.Errorf("%+v", n)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := tunnel.New(tunnel.Config{})
	for _, want := range []string{"REST", "Namespace", "Deployment", "UID", "Container", "AgentImage", "Key", "Dial", "Session"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+want) {
			t.Errorf("the error lacks %s: %v", want, err)
		}
	}
}

// Another Deployment of the same name is none of ours.
func TestReplacedDeployment(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	config := s.tunnelConfig(newProcess(t, echo))
	config.UID = "another"
	r := start(t, config)
	state := r.await(t, func(s tunnel.State) bool { return s.Err != nil })
	if !strings.Contains(state.Err.Error(), "replaced") {
		t.Error(state.Err)
	}
}

// What waits for the process does not hold the tunnel's end up, waits in the agent from
// then on, and is served by the next tunnel.
func TestEndDoesNotWaitForTheProcess(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	p := newProcess(t, echo)
	config := s.tunnelConfig(p)
	config.Drain = patience
	dialling := make(chan time.Duration, 100)
	config.Dial = func(ctx context.Context, _ uint16) (net.Conn, error) {
		deadline, _ := ctx.Deadline()
		dialling <- time.Until(deadline)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r := start(t, config)
	pod := r.await(t, connected(1)).Pods[0].Name
	c := s.call(t, pod)
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if left := <-dialling; left > time.Duration(s.session.Away)/4 {
		t.Errorf("the process has %s to answer, and the caller waits for %s", left, time.Duration(s.session.Away))
	}
	begun := time.Now()
	r.end()
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("the end took %s", took)
	}
	start(t, s.tunnelConfig(p))
	if got := ask(t, c, ""); got != "hello" {
		t.Errorf("got %q", got)
	}
}
