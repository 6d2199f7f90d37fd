package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/internal/bench/exchange"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/image"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	takeoverName = "api"
	takeoverPort = 8080
	peerPort     = 9090
	// roundTrips is how many requests one after the other are one round, of messageSize bytes each way.
	roundTrips, messageSize = 500, 100
	// bulk is how many bytes are carried in one round.
	bulk = 64 << 20
	// idleConns are open while memory is looked at.
	idleConns = 2000
)

// takeoverCases are a pod on a real node with an agent, whose traffic a child of this process serves, and beside the agent
// the same process in a container, which kubectl port-forward leads to.
type takeoverCases struct {
	node        *devenv.Node
	address     string // of the agent, in the cluster
	peer        string // of kubectl's forward
	workstation int    // process ID
	agent       int
	took        []time.Duration // of requests through the agent
}

// takeovers compares the way of a caller in the cluster to a process of the workstation, through agent and tunnel, with
// that of kubectl port-forward to the same pod.
func takeovers(ctx context.Context, b *bench) ([]comparison, error) {
	t := &takeoverCases{}
	if err := t.start(ctx, b); err != nil {
		return nil, err
	}
	ours := func(run func(net.Conn) error) side { return t.side("agent and tunnel", t.callAgent, run) }
	peer := func(run func(net.Conn) error) side { return t.side("kubectl port-forward", t.callPeer, run) }
	return []comparison{
		{
			name: fmt.Sprintf("takeover, %d requests in turn", roundTrips),
			ours: ours(func(c net.Conn) error { return talk(c, &t.took) }),
			peer: peer(func(c net.Conn) error { return talk(c, nil) }),
			note: t.added,
		},
		{name: fmt.Sprintf("takeover, %d MiB to the workstation", bulk>>20), ours: ours(send), peer: peer(receive)},
		{name: fmt.Sprintf("takeover, %d MiB from the workstation", bulk>>20), ours: ours(receive), peer: peer(send), note: t.memory},
	}, nil
}

// side is one of the two ways; the connection is made before each round.
func (t *takeoverCases) side(name string, dial func(context.Context) (net.Conn, error), run func(net.Conn) error) side {
	var c net.Conn
	return side{
		name: name,
		before: func(ctx context.Context) (err error) {
			c, err = dial(ctx)
			return err
		},
		run: func(context.Context) error { return errors.Join(run(c), c.Close()) },
	}
}

func (t *takeoverCases) callAgent(ctx context.Context) (net.Conn, error) {
	return t.node.Dial(ctx, t.address)
}

func (t *takeoverCases) callPeer(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", t.peer)
}

// talk sends messages and waits for each to come back.
func talk(c net.Conn, took *[]time.Duration) error {
	if err := exchange.Request(c, exchange.Echo, 0); err != nil {
		return err
	}
	message := bytes.Repeat([]byte("x"), messageSize)
	for range roundTrips {
		began := time.Now()
		if _, err := c.Write(message); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, message); err != nil {
			return err
		}
		if took != nil {
			*took = append(*took, time.Since(began))
		}
	}
	return nil
}

// send sends bytes to the process until it has them.
func send(c net.Conn) error {
	if err := exchange.Request(c, exchange.Take, bulk); err != nil {
		return err
	}
	if _, err := io.CopyN(struct{ io.Writer }{c}, exchange.Zeros{}, bulk); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

// receive has the process send bytes.
func receive(c net.Conn) error {
	if err := exchange.Request(c, exchange.Give, bulk); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, c, bulk)
	return err
}

// added compares one request with one to a process on the node itself.
func (t *takeoverCases) added(ctx context.Context) (string, error) {
	l, err := t.node.Listen()
	if err != nil {
		return "", err
	}
	defer l.Close()
	go func() { _ = exchange.Serve(l) }()
	c, err := t.node.Dial(ctx, l.Addr().String())
	if err != nil {
		return "", err
	}
	defer c.Close()
	var direct []time.Duration
	if err := talk(c, &direct); err != nil {
		return "", err
	}
	through := median(t.took[roundTrips:]) // without the first round
	return fmt.Sprintf("one request %s, without a takeover %s", through.Round(time.Microsecond), median(direct).Round(time.Microsecond)), nil
}

// memory is what both ends have after the bulk, and with many connections open.
func (t *takeoverCases) memory(ctx context.Context) (string, error) {
	bulkHere, err := memoryOf(t.workstation)
	if err != nil {
		return "", err
	}
	bulkThere, err := memoryOf(t.agent)
	if err != nil {
		return "", err
	}
	var open sync.WaitGroup
	errs := make(chan error, idleConns)
	conns := make(chan net.Conn, idleConns)
	limit := make(chan struct{}, 50)
	for range idleConns {
		open.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			c, err := t.callAgent(ctx)
			if err != nil {
				errs <- err
				return
			}
			conns <- c
			if err := exchange.Request(c, exchange.Echo, 0); err != nil {
				errs <- err
				return
			}
			if _, err := c.Write([]byte("x")); err != nil {
				errs <- err
				return
			}
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				errs <- err
			}
		})
	}
	open.Wait()
	close(conns)
	defer func() {
		for c := range conns {
			_ = c.Close()
		}
	}()
	select {
	case err := <-errs:
		return "", err
	default:
	}
	here, err := memoryOf(t.workstation)
	if err != nil {
		return "", err
	}
	there, err := memoryOf(t.agent)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("memory of workstation and agent: %d and %d MiB; with %d open connections %d and %d MiB", bulkHere, bulkThere, idleConns, here, there), nil
}

// memoryOf is the memory that a process has for itself, in MiB: what it has of its program is shared, and here that is this whole
// bench.
func memoryOf(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB$`).FindSubmatch(status)
	if m == nil {
		return 0, fmt.Errorf("process %d does not say how much memory it has", pid)
	}
	kib, err := strconv.Atoi(string(m[1]))
	return kib >> 10, err
}

// start starts the node, the pod, the workstation and kubectl.
func (t *takeoverCases) start(ctx context.Context, b *bench) error {
	kubectl, err := devenv.Kubectl(ctx, b.progress)
	if err != nil {
		return err
	}
	dir, err := b.folder("takeover")
	if err != nil {
		return err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil { // the pod sees it
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	build := command{path: "go", args: []string{"build", "-o", filepath.Join(dir, "process"), "./internal/bench/exchange/process"}, dir: b.root, env: []string{"CGO_ENABLED=0"}}
	if _, err := build.output(ctx); err != nil {
		return err
	}
	if t.node, err = devenv.StartNode(ctx, devenv.NodeOptions{Output: b.progress}); err != nil {
		return err
	}
	b.closers = append(b.closers, t.node.Stop)
	to, err := t.deploy(ctx, dir)
	if err != nil {
		return err
	}
	pod, err := t.ready(ctx)
	if err != nil {
		return err
	}
	t.address = net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(takeoverPort))
	if t.agent, err = agentOf(string(pod.UID)); err != nil {
		return err
	}

	listening := exec.CommandContext(ctx, filepath.Join(dir, "process"), "127.0.0.1:0")
	if to.Process, err = b.background(listening, regexp.MustCompile(`127\.0\.0\.1:\d+`), func() error { return nil }); err != nil {
		return err
	}
	config, err := json.Marshal(to)
	if err != nil {
		return err
	}
	carrier := exec.CommandContext(ctx, b.self, childFlag, "takeover")
	stdin, err := carrier.StdinPipe()
	if err != nil {
		return err
	}
	if _, err := b.background(carrier, regexp.MustCompile("connected"), func() error {
		_, err := stdin.Write(config)
		return err
	}); err != nil {
		return err
	}
	t.workstation = carrier.Process.Pid
	forward := exec.CommandContext(ctx, kubectl, "--kubeconfig", t.node.Kubeconfig(), "--context", t.node.Context(),
		"port-forward", "pod/"+pod.Name, fmt.Sprint(":", peerPort))
	t.peer, err = b.background(forward, regexp.MustCompile(`127\.0\.0\.1:\d+`), func() error { return nil })
	return err
}

// background starts a program that ends with the bench, and returns the first that it says of a kind.
func (b *bench) background(cmd *exec.Cmd, says *regexp.Regexp, then func() error) (string, error) {
	cmd.Stderr = b.progress
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	b.closers = append(b.closers, func() error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil
	})
	if err := then(); err != nil {
		return "", err
	}
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if said := says.FindString(line); said != "" {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return said, nil
		}
		if err != nil {
			return "", fmt.Errorf("%s ended, and did not say %s: %w", filepath.Base(cmd.Path), says, err)
		}
	}
}

// deploy makes the Deployment with the agent and the peer's process.
func (t *takeoverCases) deploy(ctx context.Context, dir string) (takenOver, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return takenOver{}, err
	}
	session := wire.Session{
		Version: wire.Version, ID: "bench", Key: wire.EncodeKey(public),
		Control: wire.DefaultControl, Ports: []wire.Port{{Number: takeoverPort}},
		Workload: "Deployment default/" + takeoverName, Holder: "bench", Since: time.Now().UTC().Truncate(time.Second),
		Away: wire.DefaultAway, Drain: wire.DefaultDrain, Grace: wire.Duration(30 * time.Second),
	}
	images, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		return takenOver{}, err
	}
	builder, err := golang.New(golang.Config{Registry: images, Env: os.Environ(), TempDir: dir})
	if err != nil {
		return takenOver{}, err
	}
	publisher, err := image.New(image.Config{Builder: builder, Registry: images, Push: t.node.PushRegistry(), Pull: t.node.PullRegistry()})
	if err != nil {
		return takenOver{}, err
	}
	ref, _, err := publisher.Publish(ctx, session, []string{"linux/" + runtime.GOARCH}, "1000")
	if err != nil {
		return takenOver{}, err
	}
	client, err := kubernetes.NewForConfig(t.node.Config())
	if err != nil {
		return takenOver{}, err
	}
	labels := map[string]string{"app": takeoverName}
	d, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: takeoverName},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{
						{Name: takeoverName, Image: ref, Ports: []corev1.ContainerPort{{ContainerPort: takeoverPort}}},
						{
							Name: "peer", Image: t.node.Busybox(), Command: []string{"/bench/process", fmt.Sprint(":", peerPort)},
							VolumeMounts: []corev1.VolumeMount{{Name: "bench", MountPath: "/bench"}},
						},
					},
					Volumes: []corev1.Volume{{Name: "bench", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return takenOver{}, err
	}
	return takenOver{
		Kubeconfig: t.node.Kubeconfig(), Namespace: metav1.NamespaceDefault, Image: ref, UID: d.UID, Session: session, Seed: private.Seed(),
	}, nil
}

// ready waits until all containers of the pod run.
func (t *takeoverCases) ready(ctx context.Context) (*corev1.Pod, error) {
	client, err := kubernetes.NewForConfig(t.node.Config())
	if err != nil {
		return nil, err
	}
	w, err := client.CoreV1().Pods(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{LabelSelector: "app=" + takeoverName})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return pod, nil
			}
		}
	}
	return nil, errors.New("the pod did not become ready")
}

// agentOf finds the agent's process in a pod.
func agentOf(uid string) (int, error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, process := range processes {
		command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		cgroup, _ := os.ReadFile(filepath.Join(process, "cgroup"))
		in := bytes.Contains(cgroup, []byte(uid)) || bytes.Contains(cgroup, []byte(strings.ReplaceAll(uid, "-", "_")))
		if bytes.HasPrefix(command, []byte(wire.BinaryPath)) && in {
			return strconv.Atoi(filepath.Base(process))
		}
	}
	return 0, errors.New("no process is the agent of the pod")
}
