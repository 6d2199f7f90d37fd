package lease

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
)

// Clock is a machine's clock. Its times should carry a monotonic reading, as
// time.Now's do.
type Clock interface {
	Now() time.Time
	// After sends the time when d has passed.
	After(d time.Duration) <-chan time.Time
}

// Timing is how long the leases of a mode last. All are whole seconds.
type Timing struct {
	// Duration is how far ahead of its acquisition, and of each renewal, a
	// lease ends.
	Duration time.Duration
	// RenewEvery is how often Keep renews.
	RenewEvery time.Duration
	// Max is how long after its acquisition a lease ends at the latest. Zero is
	// no limit.
	Max time.Duration
}

// Config says which lease a Manager manages, and its times.
type Config struct {
	// REST is how the API server is reached. It is copied. Required.
	REST *rest.Config
	// Namespace is the namespace of the Lease. It need not exist until the
	// lease is acquired. Required.
	Namespace string
	// Target is the target's name, a DNS label (RFC 1123). The Lease is named
	// "pharos-" and this. Required.
	Target string
	// Name is the name of the Lease, for one that is no target's. The default is
	// "pharos-" and Target.
	Name string

	// Deliver is for the mode deliver. The default is 30 s, renewed every 10 s,
	// without a limit.
	Deliver Timing
	// Borrow is for the mode borrow. The default is 20 min, renewed every
	// 5 min, 12 h at most.
	Borrow Timing

	// Margin is how long before its end a holder stops. At least 1 s, because
	// the API server tells its time in whole seconds; what is above it makes up
	// for clocks that do not run equally fast. The default is 3 s.
	Margin time.Duration
	// Grace is how long after its end others leave a lease alone. It makes up
	// for API servers whose clocks differ, and for writes that are still on
	// their way. At least 1 s. The default is 5 s.
	Grace time.Duration
	// RetryPeriod is how long Acquire waits before it looks again, and Keep
	// before it tries again to renew. The default is 1 s.
	RetryPeriod time.Duration
	// RequestTimeout bounds each API call. The default is 5 s.
	RequestTimeout time.Duration

	// Gate is closed while the lease is held in mode borrow. The default is none:
	// then the record alone guards the target.
	Gate Gate
	// GateTimeout bounds each step of the gate that a renewal, or the end of an
	// acquisition that failed, waits for. The default is 15 s.
	GateTimeout time.Duration

	// Clock is this machine's clock. The default is the real one.
	Clock Clock
	// Log receives what Keep tries again, what Acquire could not sweep, and that a
	// gate was opened. The default discards it.
	Log *slog.Logger
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// complete fills in the defaults and reports every rule that is broken.
func (c Config) complete() (Config, error) {
	if c.Deliver == (Timing{}) {
		c.Deliver = Timing{Duration: 30 * time.Second, RenewEvery: 10 * time.Second}
	}
	if c.Borrow == (Timing{}) {
		c.Borrow = Timing{Duration: 20 * time.Minute, RenewEvery: 5 * time.Minute, Max: 12 * time.Hour}
	}
	for _, d := range []struct {
		field  *time.Duration
		preset time.Duration
	}{
		{&c.Margin, 3 * time.Second},
		{&c.Grace, 5 * time.Second},
		{&c.RetryPeriod, time.Second},
		{&c.RequestTimeout, 5 * time.Second},
		{&c.GateTimeout, 15 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.preset
		}
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}

	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.REST == nil {
		bad("REST is required")
	}
	if msgs := validation.IsDNS1123Label(c.Namespace); len(msgs) > 0 {
		bad("Namespace %q: %s", c.Namespace, strings.Join(msgs, "; "))
	}
	if msgs := validation.IsDNS1123Label(c.Target); len(msgs) > 0 {
		bad("Target %q: %s", c.Target, strings.Join(msgs, "; "))
	}
	if msgs := validation.IsDNS1123Subdomain(c.Name); c.Name != "" && len(msgs) > 0 {
		bad("Name %q: %s", c.Name, strings.Join(msgs, "; "))
	}
	c.Name = cmp.Or(c.Name, keys.Manager+"-"+c.Target)
	if c.Margin < time.Second {
		bad("Margin is %s, want at least 1s", c.Margin)
	}
	if c.Grace < time.Second {
		bad("Grace is %s, want at least 1s", c.Grace)
	}
	if c.RetryPeriod < 0 {
		bad("RetryPeriod is %s, want more than 0", c.RetryPeriod)
	}
	if c.RequestTimeout < 0 {
		bad("RequestTimeout is %s, want more than 0", c.RequestTimeout)
	}
	if c.GateTimeout < 0 {
		bad("GateTimeout is %s, want more than 0", c.GateTimeout)
	}
	for _, t := range []struct {
		name string
		mode Mode
		Timing
	}{{"Deliver", ModeDeliver, c.Deliver}, {"Borrow", ModeBorrow, c.Borrow}} {
		for _, d := range []time.Duration{t.Duration, t.RenewEvery, t.Max} {
			if d < 0 || d%time.Second != 0 {
				bad("%s: %s is not in whole seconds", t.name, d)
			}
		}
		if t.RenewEvery <= 0 {
			bad("%s.RenewEvery is %s, want more than 0", t.name, t.RenewEvery)
		}
		// A renewal that fails once must be able to succeed the second time.
		need, sum := t.RenewEvery+2*c.RequestTimeout+c.RetryPeriod+c.Margin, "RenewEvery, twice the RequestTimeout, RetryPeriod and Margin"
		if c.Gate != nil && t.mode == ModeBorrow {
			need, sum = need+2*c.GateTimeout, "RenewEvery, twice the RequestTimeout and the GateTimeout, RetryPeriod and Margin"
		}
		if t.Duration < need {
			bad("%s.Duration is %s, want at least %s: %s", t.name, t.Duration, need, sum)
		}
		if t.Max != 0 && t.Max < t.Duration {
			bad("%s.Max is %s, want at least Duration, which is %s", t.name, t.Max, t.Duration)
		}
		if t.Duration > maxDuration || t.Max > maxDuration {
			bad("%s is longer than %s", t.name, maxDuration)
		}
	}
	if len(errs) > 0 {
		return Config{}, fmt.Errorf("lease: %w Config: %w", ErrInvalid, errors.Join(errs...))
	}
	return c, nil
}

// maxDuration keeps a duration far within what a Lease can hold, which is 2³¹
// seconds.
const maxDuration = 10 * 365 * 24 * time.Hour

// timing returns the timing of a mode. A maintenance does not end by itself;
// Keep looks after it as often as after a borrowed target.
func (c Config) timing(m Mode) Timing {
	switch m {
	case ModeDeliver:
		return c.Deliver
	case ModeBorrow:
		return c.Borrow
	default:
		return Timing{RenewEvery: c.Borrow.RenewEvery}
	}
}

// checkFor says why a lease of that mode cannot be held for d.
func (c Config) checkFor(m Mode, d time.Duration) error {
	longest := cmp.Or(c.timing(m).Max, maxDuration)
	switch shortest := c.Margin + 2*time.Second; {
	case d < 0 || d%time.Second != 0 || d > maxDuration:
		return fmt.Errorf("%s is %s, want whole seconds, at most %s", "For", d, maxDuration)
	case d > longest:
		return fmt.Errorf("%s is %s, want at most %s in mode %s", "For", d, longest, m)
	case d < shortest:
		return fmt.Errorf("%s is %s, want at least %s: the holder stops %s before", "For", d, shortest, c.Margin)
	}
	return nil
}
