package takeover_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// Who relies on the workloads being put back after a silence is told where nothing would:
// before anything is done.
func TestSilenceThatNobodyHears(t *testing.T) {
	t.Parallel()
	s := takeovertest.NewShop(t, devtest.Cluster(t))
	before := s.Specs()
	s.Write(editAPI)
	delivers := func(f *takeover.Facts) {
		const app = "Application argocd/shop"
		f.Applications = map[string]takeover.Healer{app: {Name: app}}
		for i := range f.Declared {
			f.Declared[i].By = app
		}
	}
	for name, tt := range map[string]struct {
		change func(*takeover.Facts)
		want   string
	}{
		"Argo CD delivers": {func(f *takeover.Facts) {
			delivers(f)
			f.Controller = takeover.Healer{}
		}, "Application argocd/shop puts it back when the lease ends"},
		"the controller has no rights there": {func(f *takeover.Facts) {
			delivers(f)
			f.Controller.Namespaces = []string{"elsewhere"}
		}, "it has no rights in namespace " + s.Namespace},
		"the controller is not there": {func(f *takeover.Facts) {
			delivers(f)
			f.Controller.Why = "none of its pods is ready"
		}, "none of its pods is ready"},
		"the controller hears": {func(*takeover.Facts) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.Config()
			read := c.Facts
			c.Facts = func(ctx context.Context) (takeover.Facts, error) {
				f, err := read(ctx)
				tt.change(&f)
				return f, err
			}
			c.Silence = 2 * time.Minute
			plan, err := sessionOf(t, c).Try(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if err := plan.Err(); err != nil || plan.Silence != 120 {
					t.Errorf("it is refused, or put back after %d seconds: %v", plan.Silence, err)
				}
				return
			}
			for what, err := range map[string]error{"tried": plan.Err(), "taken over": sessionOf(t, c).Run(t.Context())} {
				if !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "Leave --silence out") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	s.Whole(before)
}

// A session whose workloads were all put back meanwhile, as only the session object knows,
// is over: it does not go on to borrow the target for nothing.
func TestAllPutBackWithoutJournal(t *testing.T) {
	t.Parallel()
	s := serveFor(t, editAPI, lease.Timing{Duration: time.Hour, RenewEvery: 50 * time.Minute}, func(c *takeover.Config) { c.Silence = time.Second })
	s.cancel()
	<-s.ended
	for s.Spec("api") != s.before["api"] {
		if _, err := s.elsewhere().Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// It could not be written when another lease was acquired.
	rewrite(t, s.Config().Folder, func(d *journal.Document) { d.Token-- })
	again := begin(t, s.Config())
	select {
	case err := <-again.ended:
		if err != nil || !again.warned("all of its workloads were put back already") {
			t.Errorf("it ended with %v, after %v", err, again.types())
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it goes on with nothing")
	}
	s.Whole(s.before)
}
