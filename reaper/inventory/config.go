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
	// Tiers say how long transient objects may be there; of each only Name and MaxTTL
	// count. An object's tier is what its label pharos.dev/tier says, or else that of
	// its namespace. None by default.
	Tiers []reaper.Tier
	// MaxTTL is how long objects of no such tier may be there after their last
	// activity. The default is for as long as they say.
	MaxTTL time.Duration
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
	if c.Concurrency < 0 || c.LateAfter < 0 || c.StuckAfter < 0 || c.MaxTTL < 0 {
		return nil, fmt.Errorf("inventory: Config.Concurrency, LateAfter, StuckAfter or MaxTTL is negative: %d, %s, %s, %s", c.Concurrency, c.LateAfter, c.StuckAfter, c.MaxTTL)
	}
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	c.LateAfter = cmp.Or(c.LateAfter, DefaultLateAfter)
	c.StuckAfter = cmp.Or(c.StuckAfter, DefaultStuckAfter)
	c.Exclude, c.Tiers = slices.Clone(c.Exclude), slices.Clone(c.Tiers)
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
