package takeover_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// A dry run on a target that is taken over says so, and what helps: not that what the agent
// has replaced has to be delivered anew.
func TestTryWhatIsTakenOver(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	elsewhere := s.Config()
	elsewhere.Folder = t.TempDir()
	says := func(c takeover.Config, parts ...string) {
		t.Helper()
		plan, err := sessionOf(t, c).Try(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = plan.Err()
		if !errors.Is(err, lifecycle.ErrBlocked) || len(plan.Blocked) != 1 || strings.Contains(err.Error(), "Deliver first") {
			t.Errorf("it is in the way that %v", err)
			return
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in: %v", part, err)
			}
		}
	}
	says(s.Config(), "it is taken over from this checkout since 20", "Watch it: kubectl pharos takeover attach")
	says(elsewhere, "it is taken over by ann@laptop since 20", "kubectl pharos handback --force --reason TEXT")
	s.cancel()
	<-s.ended
	s.free()
	says(elsewhere, "what a takeover by ann@laptop has left there, whose lease has ended", "kubectl pharos takeover puts it back first")
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}
