package forward

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/follow"
)

const (
	// readEvery is how often a Service is read again, and readSoon how often while there is none.
	readEvery = time.Minute
	readSoon  = 2 * time.Second
)

// endpoint is a port of a pod.
type endpoint struct {
	pod  string
	uid  types.UID
	port uint16
}

// service is what is known of a Service and its endpoints.
type service struct {
	core, slices    rest.Interface
	namespace, name string

	mu sync.Mutex
	// read is nil until the Service was read, or why says why it was not.
	read    *corev1.Service
	why     error
	listed  []*discoveryv1.EndpointSlice
	unknown error // why listed may not be so
	changed chan struct{}
}

func newService(core, slices rest.Interface, namespace, name string) *service {
	return &service{
		core: core, slices: slices, namespace: namespace, name: name, changed: make(chan struct{}),
		why: errNotYet, unknown: errNotYet,
	}
}

// errNotYet is what is wrong before the first answer.
var errNotYet = errors.New("the API server has not answered yet")

func (s *service) String() string { return "Service " + s.namespace + "/" + s.name }

// run keeps what is known up to date until ctx ends.
func (s *service) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		follow.Follow(ctx, follow.Source{
			Client: s.slices, Resource: "endpointslices", Namespace: s.namespace,
			Selector: discoveryv1.LabelServiceName + "=" + s.name,
			Failed:   func(err error) { s.set(func() { s.unknown = err }) },
		}, func(all []*discoveryv1.EndpointSlice) { s.set(func() { s.listed = all }) })
	})
	for {
		read := &corev1.Service{}
		err := s.core.Get().Resource("services").Namespace(s.namespace).Name(s.name).MaxRetries(0).Do(ctx).Into(read)
		pause := readEvery
		s.set(func() {
			switch {
			case err == nil:
				s.read, s.why = read, nil
			case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || s.read == nil:
				s.read, s.why, pause = nil, err, readSoon
			}
		})
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (s *service) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// await returns the ready endpoints of a port, when there are some. With the error of ctx it returns why there are none.
func (s *service) await(ctx context.Context, port intstr.IntOrString) ([]endpoint, error) {
	for {
		all, changed, err := s.endpoints(port)
		if err == nil {
			return all, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// endpoints are the ready ones, by pod, or why there are none; changed is closed when that may be no longer so.
func (s *service) endpoints(port intstr.IntOrString) (all []endpoint, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.changed
	if s.why != nil {
		advice := ""
		if apierrors.IsForbidden(s.why) {
			advice = fmt.Sprintf(" (grant get on services in namespace %s)", s.namespace)
		}
		return nil, changed, fmt.Errorf("read %s: %w%s", s, s.why, advice)
	}
	p, err := s.port(port)
	if err != nil {
		return nil, changed, err
	}
	pods := true
	for _, slice := range s.listed {
		i := slices.IndexFunc(slice.Ports, func(q discoveryv1.EndpointPort) bool {
			return q.Port != nil && (q.Name == nil && p.Name == "" || q.Name != nil && *q.Name == p.Name)
		})
		if i < 0 {
			continue
		}
		for _, e := range slice.Endpoints {
			switch {
			case e.Conditions.Ready != nil && !*e.Conditions.Ready:
			case e.TargetRef == nil || e.TargetRef.Kind != "Pod":
				pods = false
			default:
				all = append(all, endpoint{e.TargetRef.Name, e.TargetRef.UID, uint16(*slice.Ports[i].Port)})
			}
		}
	}
	// A pod with addresses of both families has two.
	slices.SortFunc(all, func(a, b endpoint) int { return strings.Compare(a.pod, b.pod) })
	all = slices.Compact(all)
	switch {
	case len(all) > 0:
		return all, changed, nil
	case s.unknown != nil:
		return nil, changed, s.unknown
	case !pods:
		return nil, changed, fmt.Errorf("%s leads to addresses that are no pods, which cannot be reached through the API server", s)
	}
	return nil, changed, fmt.Errorf("%s has no ready pod for port %s", s, port.String())
}

// port is the port of the Service that is meant.
func (s *service) port(want intstr.IntOrString) (corev1.ServicePort, error) {
	if s.read.Spec.Type == corev1.ServiceTypeExternalName {
		return corev1.ServicePort{}, fmt.Errorf("%s is another name for %s, outside of the cluster: connect to that instead", s, s.read.Spec.ExternalName)
	}
	var have []string
	for _, p := range s.read.Spec.Ports {
		name := fmt.Sprint(p.Port)
		if p.Name != "" {
			name += " (" + p.Name + ")"
		}
		have = append(have, name)
		if want.Type == intstr.String && p.Name != want.StrVal || want.Type == intstr.Int && p.Port != want.IntVal {
			continue
		}
		if p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			return corev1.ServicePort{}, fmt.Errorf("port %s of %s is %s: only TCP can be forwarded", name, s, p.Protocol)
		}
		return p, nil
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	return corev1.ServicePort{}, fmt.Errorf("%s has no port %s; it has %s", s, want.String(), strings.Join(have, ", "))
}
