package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// Config is what ends objects.
type Config struct {
	// REST leads to the API server. It is copied; its rate limit is not used.
	REST *rest.Config
	// Rules decide. The zero value reads Pharos's own keys.
	Rules reaper.Rules
	// DryRun deletes and writes nothing; all else is done, and limited, as if it did.
	DryRun bool
	// DeletesPerSecond and ConcurrentDeletes limit how fast objects end. The defaults
	// are 100 and 10; a negative DeletesPerSecond is no limit.
	DeletesPerSecond  float64
	ConcurrentDeletes int
	// NotifyBefore is how long before its end a warning Event is recorded on an
	// object. None by default.
	NotifyBefore time.Duration
	// Events records an Event on what was deleted. A warning, see NotifyBefore, is
	// recorded whatever this says.
	Events bool
	// Instance names this process in Events, such as its pod. The default is "pharos".
	Instance string
	// Unseen are resources, such as "secrets", that the end of a namespace does not
	// look at, so that the right to list them is not needed: what they say of
	// themselves is not heard then. None by default.
	Unseen []string
	// StuckAfter is how long an object may be in deletion before that is reported.
	// The default is 10 minutes.
	StuckAfter time.Duration
	// RequestTimeout bounds each request. The default is 30 seconds.
	RequestTimeout time.Duration
	// Log is for what is not worth an error. The default discards it.
	Log *slog.Logger
}

// The defaults of a Config.
const (
	DefaultDeletesPerSecond  = 100
	DefaultConcurrentDeletes = 10
	DefaultStuckAfter        = 10 * time.Minute
	DefaultRequestTimeout    = 30 * time.Second
)

// Ender ends objects. It is safe for concurrent use.
type Ender struct {
	config Config
	clock  *kubeclient.ServerClock
	// meta and plain are clients of all groups: of objects' metadata, and of discovery
	// and Events.
	meta   metadata.Interface
	plain  rest.Interface
	budget *budget
	// looks are the namespaces that are looked into at once, lists the lists of all of
	// these looks.
	looks, lists slots
}

// New returns an Ender. It makes no request.
func New(c Config) (*Ender, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	clock := &kubeclient.ServerClock{}
	config := clock.Listen(c.REST)
	config.QPS, config.RateLimiter = -1, nil                                         // the budget limits what counts
	config.Timeout = 0                                                               // each request has RequestTimeout, and a watch lasts
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil // it is not for a sweep that a resource is deprecated
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	plain, err := newPlain(config)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	return &Ender{config: c, clock: clock, meta: meta, plain: plain,
		budget: newBudget(c.DeletesPerSecond, c.ConcurrentDeletes),
		looks:  make(slots, maxLooks), lists: make(slots, maxLookers)}, nil
}

func (c *Config) complete() error {
	if c.REST == nil {
		return errors.New("the configuration has no REST, the way to the API server")
	}
	if c.NotifyBefore < 0 || c.StuckAfter < 0 || c.RequestTimeout < 0 || c.ConcurrentDeletes < 0 {
		return fmt.Errorf("the configuration's NotifyBefore (%s), StuckAfter (%s), RequestTimeout (%s) and ConcurrentDeletes (%d) must not be negative",
			c.NotifyBefore, c.StuckAfter, c.RequestTimeout, c.ConcurrentDeletes)
	}
	c.DeletesPerSecond = cmp.Or(c.DeletesPerSecond, DefaultDeletesPerSecond)
	c.ConcurrentDeletes = cmp.Or(c.ConcurrentDeletes, DefaultConcurrentDeletes)
	c.StuckAfter = cmp.Or(c.StuckAfter, DefaultStuckAfter)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, DefaultRequestTimeout)
	c.Instance = cmp.Or(c.Instance, keys.Manager)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
