package restore

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// WatchConfig says how often Watch looks, and who hears of it.
type WatchConfig struct {
	// Every is how long it sleeps at most. The default is 1 min.
	Every time.Duration
	// Timeout bounds one pass. The default is 3 min.
	Timeout time.Duration
	// Observed is told what each pass came to: what Pass returned. It is called by
	// Watch itself, which goes on when it returns. The default discards it.
	Observed func(Report, error)
}

// soon is how long it sleeps after a pass that failed: twice as long after each further
// one, up to Every.
const soon = 5 * time.Second

// Watch makes one Pass after the other, so that a session whose holder is gone is ended
// soon after its lease, or after the silence that it says. Each begins with what then
// is on the target, so that several may watch one, and another one goes on where one was
// killed. It returns nil when ctx has ended.
func (r *Restorer) Watch(ctx context.Context, c WatchConfig) error {
	c.Every, c.Timeout = cmp.Or(max(c.Every, 0), time.Minute), cmp.Or(max(c.Timeout, 0), 3*time.Minute)
	if c.Observed == nil {
		c.Observed = func(Report, error) {}
	}
	pause := min(soon, c.Every)
	for {
		report, err := r.pass(ctx, c.Timeout)
		if ctx.Err() != nil && err != nil {
			return nil
		}
		c.Observed(report, err)
		sleep := c.Every
		if report.next > 0 {
			sleep = min(sleep, max(report.next, time.Second))
		}
		if err != nil {
			sleep, pause = min(pause, c.Every), min(2*pause, c.Every)
		} else {
			pause = min(soon, c.Every)
		}
		select {
		case <-time.After(sleep):
		case <-ctx.Done():
			return nil
		}
	}
}

// pass is one Pass, which ends in time.
func (r *Restorer) pass(ctx context.Context, timeout time.Duration) (Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %s", timeout))
	defer cancel()
	return r.Pass(ctx)
}
