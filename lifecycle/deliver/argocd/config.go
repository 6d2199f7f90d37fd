package argocd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Objects looks at the objects that Argo CD delivers, on the cluster that it
// delivers to: the Deliverer of package apply is one. Implementations are safe
// for concurrent use.
type Objects interface {
	// Resolve is that of a lifecycle.Deliverer.
	Resolve(ctx context.Context, objects []lifecycle.Object) ([]receipt.Object, error)
	// Observe is that of a lifecycle.Deliverer. It is asked about what is not
	// healthy, for the reasons; where it is forbidden, they are left out.
	Observe(ctx context.Context, r lifecycle.ObserveRequest) (lifecycle.Observation, error)
}

// Config says how a Deliverer reaches Argo CD and how it behaves there.
type Config struct {
	// RESTConfig is the cluster in which Argo CD runs, and who we are there. It
	// is copied.
	RESTConfig *rest.Config
	// Layout says which Applications deliver the target. It is that of the
	// Renderer.
	Layout Layout
	// Objects looks at what Argo CD delivers. Required.
	Objects Objects
	// FieldManager owns what is set in Applications. The default is "pharos".
	FieldManager string
	// OperationWait is how long an operation of somebody else may still take
	// before a delivery is refused. The default is 30 seconds.
	OperationWait time.Duration
	// RetryFor bounds for how long a server that does not answer is waited for.
	// The default is 30 seconds.
	RetryFor time.Duration
	// StaleAfter is how old the status of an Application may be that proves
	// that nothing has to be done, by the API server's clock. Argo CD's own default is to look every two to
	// three minutes. The default is 10 minutes.
	StaleAfter time.Duration
	// Log receives what is no event, at debug level. The default discards.
	Log *slog.Logger
}

// Deliverer delivers through one Argo CD. It is safe for concurrent use.
type Deliverer struct {
	client        *argo.Client
	layout        Layout
	objects       Objects
	manager       string
	operationWait time.Duration
	retryFor      time.Duration
	staleAfter    time.Duration
	log           *slog.Logger
	now           func() time.Time
}

var _ lifecycle.Deliverer = (*Deliverer)(nil)

// New returns a Deliverer. It sends nothing. It fails when the configuration
// misses something, contradicts itself, or names credentials that cannot be
// loaded.
func New(c Config) (*Deliverer, error) {
	l, err := c.Layout.resolve()
	if c.RESTConfig == nil {
		err = errors.Join(err, errors.New("argocd: Config.RESTConfig is missing"))
	}
	if c.Objects == nil {
		err = errors.Join(err, errors.New("argocd: Config.Objects is missing"))
	}
	if c.OperationWait < 0 || c.RetryFor < 0 || c.StaleAfter < 0 {
		err = errors.Join(err, fmt.Errorf("argocd: OperationWait (%v), RetryFor (%v) and StaleAfter (%v) must not be negative",
			c.OperationWait, c.RetryFor, c.StaleAfter))
	}
	if err != nil {
		return nil, err
	}
	client, err := argo.NewClient(c.RESTConfig)
	if err != nil {
		return nil, &lifecycle.Error{Op: "connect to", On: c.RESTConfig.Host, Class: lifecycle.ErrUnreachable, Err: err,
			Advice: "Check the server, the certificates and the credentials in the kubeconfig."}
	}
	d := &Deliverer{
		client: client, layout: l, objects: c.Objects, manager: orDefault(c.FieldManager, keys.Manager),
		operationWait: c.OperationWait, retryFor: c.RetryFor, staleAfter: c.StaleAfter, log: c.Log, now: time.Now,
	}
	for _, t := range []struct {
		field *time.Duration
		value time.Duration
	}{{&d.operationWait, 30 * time.Second}, {&d.retryFor, 30 * time.Second}, {&d.staleAfter, 10 * time.Minute}} {
		if *t.field == 0 {
			*t.field = t.value
		}
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	return d, nil
}
