package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// Tier is how long transient objects of some use may be there.
type Tier struct {
	Name string
	// MaxTTL is how long one may be there after its last activity.
	MaxTTL time.Duration
}

// Config is what an Inventory is made of. Its zero values are the defaults, but for
// REST.
type Config struct {
	// REST leads to the API server. It is copied; its rate limit is not used.
	REST *rest.Config
	// Rules decide what ends. The zero value reads Pharos's own keys.
	Rules reaper.Rules
	// Target is the name of the target whose label pharos.dev/target marks what was
	// delivered to it. By default only the names in a Declaration tell that.
	Target string
	// Tier says which tier an object is of, and false if it is of none. By default
	// none is.
	Tier func(reaper.Object) (Tier, bool)
	// Exclude are resources that are not looked at, named as kubectl does, such as
	// "ciliumidentities.cilium.io"; Secrets, Events and Endpoints never are. None by
	// default.
	Exclude []string
	// Concurrency is how many lists are read at once. The default is 12.
	Concurrency int
	// LateAfter is how long after its end an object is Overdue, since the reaper needs
	// a while. The default is 10 minutes.
	LateAfter time.Duration
	// StuckAfter is how long an object may be in deletion. The default is 10 minutes.
	StuckAfter time.Duration
}

// The defaults of a Config.
const (
	DefaultConcurrency = 12
	DefaultLateAfter   = 10 * time.Minute
	DefaultStuckAfter  = 10 * time.Minute
)

// pageSize is how many objects one answer holds at most: kubectl's own.
const pageSize = 500

// Inventory looks at what is on a target. It is safe for concurrent use.
type Inventory struct {
	config Config
	clock  *kubeclient.ServerClock
	client rest.Interface
}

// New returns an Inventory. It makes no request.
func New(c Config) (*Inventory, error) {
	if c.REST == nil {
		return nil, errors.New("inventory: Config.REST is missing")
	}
	if c.Concurrency < 0 || c.LateAfter < 0 || c.StuckAfter < 0 {
		return nil, fmt.Errorf("inventory: Config.Concurrency, LateAfter or StuckAfter is negative: %d, %s, %s", c.Concurrency, c.LateAfter, c.StuckAfter)
	}
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	c.LateAfter = cmp.Or(c.LateAfter, DefaultLateAfter)
	c.StuckAfter = cmp.Or(c.StuckAfter, DefaultStuckAfter)
	c.Exclude = slices.Clone(c.Exclude)
	clock := &kubeclient.ServerClock{}
	config := clock.Listen(c.REST)
	config.QPS, config.RateLimiter = -1, nil // what is read at once is bounded
	client, err := kubeclient.New(config, corev1.SchemeGroupVersion, func(s *runtime.Scheme) error {
		return errors.Join(corev1.AddToScheme(s), appsv1.AddToScheme(s))
	})
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	return &Inventory{config: c, clock: clock, client: client}, nil
}
