package tunnel

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/follow"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward"
)

// DefaultDrain is how long open connections have to end when a Tunnel ends.
const DefaultDrain = 5 * time.Second

// Config says whose traffic goes where.
type Config struct {
	// REST leads to the cluster.
	REST *rest.Config
	// Namespace, Deployment and UID name the workload; another Deployment of the same name is none of ours.
	Namespace, Deployment string
	UID                   types.UID
	// Container is the name of the container that the agent stands in for, and AgentImage the reference by digest that it runs.
	Container, AgentImage string
	// Session is the document in that image.
	Session wire.Session
	// Key is the private half of Session.Key.
	Key ed25519.PrivateKey
	// Dial connects to the local process, for a port of the container. An error says that the process does not take the
	// connection now; it is logged, not sent, and Dial is called again for a caller who waits still. Its context ends after a
	// part of the time that callers wait for, or when Run's does. It is called by several goroutines at once. A *net.TCPConn,
	// or what has its methods CloseWrite and SetLinger, is closed and cut off as the other end was.
	Dial func(ctx context.Context, port uint16) (net.Conn, error)
	// Permit, if not nil, is called before a new stream serves, and before Serve has one do so. While it returns an error, the
	// agent stays on hold and it is called again, every second.
	Permit func(ctx context.Context) error
	// Observed, if not nil, is called with the state when a pod comes or goes, a stream is made or lost, or what else it says
	// has changed, one call at a time. It should not block. Changes of the number of connections alone are not told.
	Observed func(State)
	// Drain is how long open connections have to end when Run does. The default is DefaultDrain; it is none where negative.
	Drain time.Duration
	// Log is for details, and for what is lost. The default discards them.
	Log *slog.Logger
}

// Tunnel carries the traffic of one workload. It is safe for concurrent use.
type Tunnel struct {
	config Config
	log    *slog.Logger
	dialer reacher
	apps   *rest.RESTClient
	pods   *rest.RESTClient
	relay  *relay.Relay
	pins   pins

	mu      sync.Mutex
	held    bool
	serving chan struct{} // closed while it is not held
	err     error
	peers   map[types.UID]*peer
	changed chan struct{}
}

// reacher connects to pods.
type reacher interface {
	Connect(ctx context.Context, namespace, pod string) (*portforward.Conn, error)
}

// New checks the configuration. It makes no request.
func New(c Config) (*Tunnel, error) {
	var problems []error
	for _, need := range []struct {
		name string
		ok   bool
	}{
		{"REST", c.REST != nil}, {"Namespace", c.Namespace != ""}, {"Deployment", c.Deployment != ""}, {"UID", c.UID != ""},
		{"Container", c.Container != ""}, {"AgentImage", c.AgentImage != ""}, {"Key", len(c.Key) == ed25519.PrivateKeySize}, {"Dial", c.Dial != nil},
	} {
		if !need.ok {
			problems = append(problems, fmt.Errorf("tunnel: Config.%s is missing", need.name))
		}
	}
	if _, err := c.Session.Encode(); err != nil {
		problems = append(problems, fmt.Errorf("tunnel: Config.Session: %w", err))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if c.Drain == 0 {
		c.Drain = DefaultDrain
	}
	t := &Tunnel{
		config: c, log: c.Log, relay: relay.New(),
		serving: make(chan struct{}), peers: map[types.UID]*peer{}, changed: make(chan struct{}, 1),
	}
	close(t.serving)
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	t.log = t.log.With("namespace", c.Namespace, "deployment", c.Deployment)
	var err error
	if t.dialer, err = portforward.New(c.REST); err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	if t.apps, err = kubeclient.New(c.REST, appsv1.SchemeGroupVersion, appsv1.AddToScheme); err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	if t.pods, err = follow.Client(c.REST, corev1.SchemeGroupVersion, corev1.AddToScheme); err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	return t, nil
}

// Run carries traffic until ctx ends, and returns nil when all connections have. It may be called once. It serves from
// the beginning, unless Hold was called before.
func (t *Tunnel) Run(ctx context.Context) error {
	var running, observing sync.WaitGroup
	observed, stopObserving := context.WithCancel(context.WithoutCancel(ctx))
	observing.Go(func() { t.observe(observed) })
	defer observing.Wait()
	defer stopObserving()

	selector, err := t.selector(ctx)
	if err != nil {
		return nil // ctx has ended
	}
	follow.Follow(ctx, follow.Source{
		Client: t.pods, Resource: "pods", Namespace: t.config.Namespace, Selector: selector,
		Failed: t.fail,
	}, func(pods []*corev1.Pod) { t.see(ctx, &running, pods) })
	running.Wait()
	return nil
}

// The pauses between tries to read the Deployment.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
)

// selector returns the labels of the Deployment's pods, which cannot change. The error is that of ctx.
func (t *Tunnel) selector(ctx context.Context) (string, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		var d appsv1.Deployment
		err := t.apps.Get().Resource("deployments").Namespace(t.config.Namespace).Name(t.config.Deployment).MaxRetries(0).Do(ctx).Into(&d)
		if err == nil && d.UID != t.config.UID {
			err = fmt.Errorf("it was replaced: its UID is %s, and was %s", d.UID, t.config.UID)
		}
		if err == nil {
			s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
			if err == nil {
				t.fail(nil)
				return s.String(), nil
			}
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		t.fail(fmt.Errorf("read Deployment %s/%s: %w", t.config.Namespace, t.config.Deployment, err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// see takes over which pods there are.
func (t *Tunnel) see(ctx context.Context, running *sync.WaitGroup, pods []*corev1.Pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	there := map[types.UID]bool{}
	for _, pod := range pods {
		there[pod.UID] = true
		p := t.peers[pod.UID]
		if p == nil {
			p = newPeer(t, pod)
			t.peers[pod.UID] = p
			running.Go(func() { p.run(ctx) })
		}
		p.see(pod)
	}
	for uid, p := range t.peers {
		if !there[uid] {
			p.leave()
			delete(t.peers, uid)
			t.pins.forget(uid)
			t.change()
		}
	}
}

// Hold has new connections wait from now on, at all pods. The error says at which pods that have a stream it could not be
// done; it is done there when they have one again. Connections on the way wait here.
func (t *Tunnel) Hold(ctx context.Context) error { return t.tell(ctx, true) }

// Serve ends Hold.
func (t *Tunnel) Serve(ctx context.Context) error { return t.tell(ctx, false) }

func (t *Tunnel) tell(ctx context.Context, held bool) error {
	t.mu.Lock()
	if t.held != held {
		t.held = held
		if held {
			t.serving = make(chan struct{})
		} else {
			close(t.serving)
		}
		t.change()
	}
	var told []chan error
	for _, p := range t.peers {
		told = append(told, p.tell())
	}
	t.mu.Unlock()
	var errs []error
	for _, c := range told {
		select {
		case err := <-c:
			errs = append(errs, err)
		case <-ctx.Done():
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
	}
	return errors.Join(errs...)
}

// gate says whether connections are to wait, and until when.
func (t *Tunnel) gate() (held bool, serving <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held, t.serving
}

// fail says why it is not known which pods there are, or that it is.
func (t *Tunnel) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.err == nil {
		t.log.Warn("the pods are not known any more", "error", err)
	}
	t.err = err
	t.change()
}
