package lease_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lease"
)

// Only what stands as it was closed, for this holder, and has not ended, keeps
// anything away.
func TestExposed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	s := lease.State{Held: true, Mode: lease.ModeBorrow, Holder: "A", Token: 2, Covers: []string{"api", "web"}, Now: now, Expires: now.Add(time.Second)}
	stands := lease.Closed{Covers: []string{"api", "web"}, Holder: "A", Token: 2}
	for name, tc := range map[string]struct {
		change func(*lease.Closed)
		want   []string
	}{
		"stands":       {func(*lease.Closed) {}, nil},
		"other holder": {func(c *lease.Closed) { c.Holder = "B" }, s.Covers},
		"other token":  {func(c *lease.Closed) { c.Token = 1 }, s.Covers},
		"opened":       {func(c *lease.Closed) { c.Opened = true }, s.Covers},
		"ended":        {func(c *lease.Closed) { c.LeftOver = true }, s.Covers},
		"changed":      {func(c *lease.Closed) { c.Wrong = []string{"its duration is 0s"} }, s.Covers},
		"of one":       {func(c *lease.Closed) { c.Covers = []string{"web"} }, []string{"api"}},
	} {
		c := stands
		tc.change(&c)
		if got := s.Exposed([]lease.Closed{c}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	for name, change := range map[string]func(*lease.State){
		"not held":         func(s *lease.State) { s.Held = false },
		"in another mode":  func(s *lease.State) { s.Mode = lease.ModeMaintain },
		"in its grace":     func(s *lease.State) { s.Expires = now },
		"broken, in grace": func(s *lease.State) { s.Broken = &lease.Broken{Holder: "A"} },
	} {
		s := s
		if change(&s); len(s.Exposed(nil)) > 0 {
			t.Errorf("%s: %v is exposed", name, s.Exposed(nil))
		}
	}
	if s.Expires = (time.Time{}); len(s.Exposed(nil)) != 2 {
		t.Errorf("without an end: %v is exposed, want all", s.Exposed(nil))
	}
}
