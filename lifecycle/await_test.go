package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// TestAdviceOnALease wants advice that fits when the lease ends.
func TestAdviceOnALease(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		state lease.State
		want  string
	}{
		"a delivery":                   {lease.State{Mode: lease.ModeDeliver, Expires: now.Add(time.Minute)}, "Wait for it with --wait"},
		"a borrower":                   {lease.State{Mode: lease.ModeBorrow, Expires: now.Add(time.Minute)}, "Ask ann@laptop to release it"},
		"maintenance without an end":   {lease.State{Mode: lease.ModeMaintain}, "It ends when the target is live again: kubectl pharos maintenance off"},
		"a borrower that is late":      {lease.State{Mode: lease.ModeBorrow, Expires: now.Add(-time.Second)}, "Run the same command again"},
		"a borrower whose time is up":  {lease.State{Mode: lease.ModeBorrow, Expires: now}, "Run the same command again"},
		"one that was broken just now": {lease.State{Mode: lease.ModeBorrow, Holder: "x", Expires: now.Add(time.Second), Broken: &lease.Broken{Holder: "x"}}, "Run the same command again"},
		"a delivery that was killed":   {lease.State{Mode: lease.ModeDeliver, Expires: now.Add(-time.Second)}, "Run the same command again"},
	} {
		tc.state.Held, tc.state.User, tc.state.Now = true, "ann@laptop", now
		o := &operation{Lifecycle: &Lifecycle{Config{Target: "dev"}}}
		err, ok := o.blocked(tc.state, nil).(*BlockedError)
		if !ok || !strings.HasPrefix(err.Next, tc.want) {
			t.Errorf("%s: %v, want the advice %q", name, err, tc.want)
		}
	}
}
