package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// SweeperConfig says what a Sweeper looks after.
type SweeperConfig struct {
	// Resources are named as kubectl does, or Everything. Required: nothing is swept
	// by default.
	Resources []string
	// Namespace is the only one that is swept, itself and what is in it; all of them if
	// empty.
	Namespace string
	// Discover is how often the API server is asked which resources there are, for
	// those that come and go. One that goes is noticed at once, too. The default is 30
	// seconds.
	Discover time.Duration
	// Observed is called for each object that was to end, with how late that was: by
	// several goroutines at once. It may be nil.
	Observed func(i Item, late time.Duration)
}

// DefaultDiscover is how often discovery is asked.
const DefaultDiscover = 30 * time.Second

// Sweeper ends objects when their time comes, and warns of it before: it watches
// resources, keeps the deadlines, and has an Ender do the last step. It is safe for
// concurrent use.
type Sweeper struct {
	ender  *Ender
	config SweeperConfig

	mu  sync.Mutex
	now *sweeping // nil while it does not run
}

// NewSweeper returns a Sweeper. It makes no request. The limits of its deletions, what
// it warns of and what it logs to are those of the Ender.
func NewSweeper(e *Ender, c SweeperConfig) (*Sweeper, error) {
	switch {
	case e == nil:
		return nil, errors.New("sweep: the Ender is missing")
	case len(c.Resources) == 0:
		return nil, errors.New("sweep: SweeperConfig.Resources is missing: nothing is swept by default")
	case c.Discover < 0:
		return nil, fmt.Errorf("sweep: SweeperConfig.Discover is negative: %s", c.Discover)
	}
	c.Resources = slices.Clone(c.Resources)
	c.Discover = cmp.Or(c.Discover, DefaultDiscover)
	if c.Observed == nil {
		c.Observed = func(Item, time.Duration) {}
	}
	return &Sweeper{ender: e, config: c}, nil
}

// State is what a Sweeper knows at a moment.
type State struct {
	// Objects are how many say that they end, by resource and class. It is nil while
	// the sweep does not run.
	Objects map[string]map[Class]int
	// Oldest is when the oldest of them was created; zero if there is none.
	Oldest time.Time
	// Failing are how many could not be ended at the last try.
	Failing int
	// Gaps are what is not seen: nothing in them is ended.
	Gaps []Gap
}

// State returns what the Sweeper knows. It goes through all objects.
func (s *Sweeper) State() State {
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	if now == nil {
		return State{}
	}
	return now.state()
}

// Run sweeps until ctx ends, and returns nil when all that it started has ended. What
// fails is in the State, in the log and tried again. A Sweeper that runs twice at once
// does no harm, and everything twice.
func (s *Sweeper) Run(ctx context.Context) error {
	now := newSweeping(s.ender, s.config)
	s.set(now)
	defer s.set(nil)
	now.run(ctx)
	return nil
}

func (s *Sweeper) set(now *sweeping) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}
