package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// Kind is a kind of workloads, of the API group apps.
type Kind string

const (
	// Deployment is a Deployment.
	Deployment Kind = "Deployment"
	// StatefulSet is a StatefulSet.
	StatefulSet Kind = "StatefulSet"
	// DaemonSet is a DaemonSet.
	DaemonSet Kind = "DaemonSet"
)

// resource is the kind's resource; empty for another kind.
func (k Kind) resource() string {
	switch k {
	case Deployment:
		return "deployments"
	case StatefulSet:
		return "statefulsets"
	case DaemonSet:
		return "daemonsets"
	}
	return ""
}

// Config says which workload is supervised.
type Config struct {
	// Client reaches the cluster, with the caller's limits of rate and time. Required.
	Client dynamic.Interface
	// Kind, Namespace and Name are the workload's. Required.
	Kind            Kind
	Namespace, Name string
	// Patience is how long a pod may be unready until that is a failure: longer than
	// it takes to start. The default is 10 min, as long as a Deployment may take by
	// default until it is said not to progress.
	Patience time.Duration
	// Delivery names what was delivered last, such as a receipt: another name is a
	// new delivery, also if the pod template is the same. It is called at each check,
	// by as many goroutines at once as use the Workload. The default is none.
	Delivery func(ctx context.Context) (string, error)
	// Now is the time of the API server, against which pods are held. The default is
	// this machine's.
	Now func() time.Time
}

// Workload is a workload as what is supervised, and the store of its state. It is
// safe for concurrent use.
type Workload struct {
	config Config
	of     dynamic.ResourceInterface
}

var (
	_ supervise.Thing = (*Workload)(nil)
	_ supervise.Store = (*Workload)(nil)
)

// New returns a Workload. It makes no call. The error matches supervise.ErrInvalid and
// has every rule that is broken.
func New(c Config) (*Workload, error) {
	var errs []error
	if c.Client == nil || c.Namespace == "" || c.Name == "" {
		errs = append(errs, errors.New("the Client, Namespace and Name are required"))
	}
	if c.Kind.resource() == "" {
		errs = append(errs, fmt.Errorf("the Kind is %q, want Deployment, StatefulSet or DaemonSet", c.Kind))
	}
	if c.Patience < 0 {
		errs = append(errs, fmt.Errorf("the Patience is %s, want more than 0", c.Patience))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("workload: %w Config: %w", supervise.ErrInvalid, errors.Join(errs...))
	}
	c.Patience = cmp.Or(c.Patience, 10*time.Minute)
	if c.Delivery == nil {
		c.Delivery = func(context.Context) (string, error) { return "", nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	w := &Workload{config: c}
	w.of = w.resource(apps(c.Kind.resource()))
	return w, nil
}

// String names the workload in errors.
func (w *Workload) String() string {
	return fmt.Sprintf("%s %s/%s", w.config.Kind, w.config.Namespace, w.config.Name)
}

func (w *Workload) resource(r schema.GroupVersionResource) dynamic.ResourceInterface {
	return w.config.Client.Resource(r).Namespace(w.config.Namespace)
}

func apps(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}
}
