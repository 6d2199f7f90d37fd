package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/follow"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/portforward"
)

// Forward is one port of a Service that is to be reachable.
type Forward struct {
	// Service and Namespace name the Service; both are needed.
	Service, Namespace string
	// Port is one of the Service's ports, by its number or name.
	Port intstr.IntOrString
	// Local is the loopback port; 0 has one chosen.
	Local uint16
}

// String names the Service's port: "shop/db:5432".
func (f Forward) String() string { return f.Namespace + "/" + f.Service + ":" + f.Port.String() }

// Config says what is forwarded.
type Config struct {
	// REST leads to the cluster.
	REST *rest.Config
	// Forwards are the ports of Services.
	Forwards []Forward
	// Owner is who forwards, such as a checkout and a workload: each has ports of its own, so that who comes first does
	// not decide. The default is one without a name.
	Owner string
	// Observed, if not nil, is called with the state of all forwards when one of them begins or ceases to work, has
	// changed its pod, or does not work for another reason, one call at a time. It should not block.
	Observed func([]Status)
	// Log is for details. The default discards them.
	Log *slog.Logger
}

// Address is where a forward is reached.
type Address struct {
	Forward
	// Port is bound on 127.0.0.1 and, where there is IPv6, on ::1.
	Bound uint16
}

// String is the address with its port: "127.0.0.1:23511".
func (a Address) String() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(a.Bound))) }

// Status is how a forward is.
type Status struct {
	Address
	// Pod is where connections go; empty while it works for none.
	Pod string
	// Connections is how many are open.
	Connections int
	// Err is why it does not work; nil if it does, or if that is not known yet.
	Err error
	// Since is when Pod or Err became so.
	Since time.Time
}

// Forwarder forwards. It is safe for concurrent use.
type Forwarder struct {
	observed func([]Status)
	log      *slog.Logger
	services []*service
	ports    []*port
	changed  chan struct{}
}

// New checks the configuration and binds the ports; it makes no request. [Run] has to be called to serve and to unbind
// them, or [Close]. All that is wrong is in the error, which matches [ErrInUse] if a port is in use.
func New(c Config) (*Forwarder, error) {
	if c.REST == nil {
		return nil, errors.New("forward: Config.REST is missing")
	}
	dialer, err := portforward.New(c.REST)
	if err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	core, err := kubeclient.New(c.REST, corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	slices, err := follow.Client(c.REST, discoveryv1.SchemeGroupVersion, discoveryv1.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	f := &Forwarder{observed: c.Observed, log: c.Log, changed: make(chan struct{}, 1)}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	named := map[string]*service{}
	seen := map[string]bool{}
	var problems []error
	for _, w := range c.Forwards {
		switch {
		case w.Service == "" || w.Namespace == "" || w.Port == (intstr.IntOrString{}):
			problems = append(problems, fmt.Errorf("forward %s: the Service's name, namespace and port are needed", w))
			continue
		case seen[w.String()]:
			problems = append(problems, fmt.Errorf("forward %s: it is there twice", w))
			continue
		}
		seen[w.String()] = true
		key := w.Namespace + "/" + w.Service
		s := named[key]
		if s == nil {
			s = newService(core, slices, w.Namespace, w.Service)
			named[key] = s
			f.services = append(f.services, s)
		}
		listeners, bound, err := bind(c.Owner, w)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		f.ports = append(f.ports, &port{
			Forwarder: f, address: Address{w, bound}, listeners: listeners, service: s,
			pool: pool{dialer: dialer, namespace: w.Namespace}, since: time.Now(),
		})
	}
	if len(problems) > 0 {
		return nil, errors.Join(append(problems, f.Close())...)
	}
	return f, nil
}

// Addresses are those of the forwards, in their order.
func (f *Forwarder) Addresses() []Address {
	all := make([]Address, len(f.ports))
	for i, p := range f.ports {
		all[i] = p.address
	}
	return all
}

// State is how the forwards are, in their order.
func (f *Forwarder) State() []Status {
	all := make([]Status, len(f.ports))
	for i, p := range f.ports {
		all[i] = p.status()
	}
	return all
}

// Close unbinds the ports. Run does it, too.
func (f *Forwarder) Close() error {
	var errs []error
	for _, p := range f.ports {
		for _, l := range p.listeners {
			if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends, and then resets what is open, unbinds the ports and returns nil. It may be called once.
func (f *Forwarder) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for _, s := range f.services {
		running.Go(func() { s.run(ctx) })
	}
	failed := make(chan error, len(f.ports))
	for _, p := range f.ports {
		running.Go(func() {
			if err := p.run(ctx); err != nil {
				failed <- err
				cancel()
			}
		})
	}
	running.Go(func() { f.observe(ctx) })
	<-ctx.Done()
	err := f.Close()
	running.Wait()
	select {
	case err = <-failed:
	default:
	}
	return err
}

// observe tells of changes until ctx ends.
func (f *Forwarder) observe(ctx context.Context) {
	for {
		select {
		case <-f.changed:
			if f.observed != nil {
				f.observed(f.State())
			}
		case <-ctx.Done():
			return
		}
	}
}

func (f *Forwarder) change() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}
