package argocd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lease"
)

// DefaultNamespace is where Argo CD is usually installed.
const DefaultNamespace = "argocd"

// Config says which Argo CD a Gate closes, and how long it waits for it.
type Config struct {
	// REST is the cluster in which Argo CD runs, and who we are there. It is
	// copied. Required.
	REST *rest.Config
	// Namespace is Argo CD's own, where its AppProjects are, and the Applications
	// that can be covered. The default is DefaultNamespace.
	Namespace string
	// Applications returns the names of the target's Applications, of those in
	// Namespace. It may be called by several goroutines at once. Required.
	Applications func(context.Context) ([]string, error)

	// Answer is how long Close waits for the controller to look at an Application
	// once its window stands, and Open and Sweep before they ask again for what
	// the controller does not do. The default is 15 s.
	Answer time.Duration
	// Settle is how long Open and Sweep wait for Argo CD to restore what a lease
	// covered; ctx may end it earlier. What is left is in their Report. The
	// default is 2 min.
	Settle time.Duration

	// Clock is this machine's clock. The default is the real one.
	Clock lease.Clock
	// Log receives what is tried again, at debug level. The default discards it.
	Log *slog.Logger
}

// Gate closes the AppProjects of one Argo CD. It is safe for concurrent use.
type Gate struct {
	config Config
	client *argo.Client
}

var _ lease.Gate = (*Gate)(nil)

// New returns a Gate. It makes no call. The error, which is a lease.ErrInvalid,
// lists everything in the configuration that breaks a rule.
func New(c Config) (*Gate, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	client, err := argo.NewClient(c.REST)
	if err != nil {
		return nil, fmt.Errorf("lease/argocd: %w Config.REST: %w", lease.ErrInvalid, err)
	}
	return &Gate{config: c, client: client}, nil
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// complete fills in the defaults and reports every rule that is broken.
func (c Config) complete() (Config, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.REST == nil {
		bad("REST is required")
	}
	if c.Applications == nil {
		bad("Applications is required")
	}
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if msgs := validation.IsDNS1123Label(c.Namespace); len(msgs) > 0 {
		bad("Namespace %q: %s", c.Namespace, strings.Join(msgs, "; "))
	}
	for _, d := range []struct {
		name   string
		field  *time.Duration
		preset time.Duration
	}{{"Answer", &c.Answer, 15 * time.Second}, {"Settle", &c.Settle, 2 * time.Minute}} {
		if *d.field == 0 {
			*d.field = d.preset
		}
		if *d.field < 0 {
			bad("%s is %s, want more than 0", d.name, *d.field)
		}
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if len(errs) > 0 {
		return Config{}, fmt.Errorf("lease/argocd: %w Config: %w", lease.ErrInvalid, errors.Join(errs...))
	}
	return c, nil
}
