package takeover_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// killed is what a process is told that dies in the middle of a session.
type killed struct {
	Kubeconfig, Dir, Namespace string
	// At is the event, and Step its step, at which it dies. Finish has it hand back a
	// session that does not run.
	At     takeover.EventType
	Step   journal.Step
	Finish bool
	// Lease is for how long the target is borrowed; the default is that of package lease.
	Lease lease.Timing
}

func TestMain(m *testing.M) { killtest.Main(m, runAndDie) }

// runAndDie takes over, hands back, and sends itself SIGKILL on the way.
func runAndDie(ctx context.Context, k killed) error {
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		return err
	}
	c, err := takeovertest.Config(ctx, k.Dir, k.Namespace, config, k.Lease)
	if err != nil {
		return err
	}
	var s *takeover.Session
	c.Events = func(e takeover.Event) {
		if e.Type == k.At && e.Step == k.Step {
			killtest.Die()
		}
		if e.Type == takeover.EventServing {
			go func() { _ = s.HandBack(ctx) }()
		}
	}
	if s, err = takeover.New(c); err != nil {
		return err
	}
	if k.Finish {
		err = s.Finish(ctx)
	} else {
		err = s.Run(ctx)
	}
	return fmt.Errorf("the event %s %s never came: %w", k.At, k.Step, err)
}

// dieIn runs a session in a process that dies meanwhile.
func dieIn(t *testing.T, s *takeovertest.Shop, k killed) {
	t.Helper()
	k.Kubeconfig, k.Dir, k.Namespace = devtest.Kubeconfig(t, s.REST), s.Dir, s.Namespace
	if !killtest.Run(t, k) {
		t.Fatal("the process ended by itself")
	}
}

// deaths are the moments at which a session is killed: when the journal has a step, and
// after what that names was done.
func deaths() (list []killed) {
	for _, step := range journal.Steps() {
		list = append(list, killed{At: takeover.EventStep, Step: step})
	}
	for _, at := range []takeover.EventType{takeover.EventLeaseAcquired, takeover.EventRecorded, takeover.EventReady, takeover.EventDiverted, takeover.EventServing,
		takeover.EventRestored, takeover.EventAgentsGone, takeover.EventForgotten, takeover.EventReturned} {
		list = append(list, killed{At: at})
	}
	return list
}

// A session that is killed with SIGKILL at any moment is handed back by Finish, and the
// workloads are byte for byte what they were.
func TestKilledThenFinished(t *testing.T) {
	c := devtest.Cluster(t)
	for _, k := range deaths() {
		t.Run(string(k.At)+" "+string(k.Step), func(t *testing.T) {
			t.Parallel()
			s := takeovertest.NewShop(t, c)
			before := s.Specs()
			s.Write(map[string]string{"api/main.txt": "api 2\n"})
			dieIn(t, s, k)
			c, local := s.Config(), &takeovertest.Workstation{}
			c.Workstation = local
			session, err := takeover.New(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := session.Finish(t.Context()); err != nil {
				t.Errorf("handed back: %v", err)
			}
			if local.Recovered() == 0 {
				t.Error("what was left on this machine is there still")
			}
			s.Whole(before)
		})
	}
}

// A session that is killed with SIGKILL at any moment goes on with the next Run, or is
// handed back by it if that had begun.
func TestKilledThenResumed(t *testing.T) {
	c := devtest.Cluster(t)
	for _, k := range deaths() {
		t.Run(string(k.At)+" "+string(k.Step), func(t *testing.T) {
			t.Parallel()
			s := takeovertest.NewShop(t, c)
			before := s.Specs()
			s.Write(map[string]string{"api/main.txt": "api 2\n"})
			dieIn(t, s, k)
			r := begin(t, s.Config())
			over := k.Step == journal.HandingBack || k.Step == journal.Restored || k.Step == journal.Released || k.At == takeover.EventRestored ||
				k.At == takeover.EventAgentsGone || k.At == takeover.EventForgotten || k.At == takeover.EventReturned
			if !over {
				r.until(takeover.EventServing, 1)
				if s.Spec("api") == before["api"] {
					t.Error("api is served, and is as it was")
				}
				if err := r.HandBack(t.Context()); err != nil {
					t.Errorf("hand back: %v", err)
				}
			}
			if err := <-r.ended; err != nil {
				t.Errorf("the session ended with %v", err)
			}
			s.Whole(before)
		})
	}
}

// A hand-back that is killed is finished by the next one.
func TestFinishKilled(t *testing.T) {
	c := devtest.Cluster(t)
	for _, k := range deaths() {
		back := k.Step == journal.HandingBack || k.Step == journal.Restored || k.Step == journal.Released || k.At == takeover.EventRestored || k.At == takeover.EventForgotten
		if !back {
			continue
		}
		t.Run(string(k.At)+" "+string(k.Step), func(t *testing.T) {
			t.Parallel()
			s := takeovertest.NewShop(t, c)
			before := s.Specs()
			s.Write(map[string]string{"api/main.txt": "api 2\n"})
			dieIn(t, s, killed{At: takeover.EventServing})
			k.Finish = true
			dieIn(t, s, k)
			session, err := takeover.New(s.Config())
			if err != nil {
				t.Fatal(err)
			}
			if err := session.Finish(t.Context()); err != nil {
				t.Errorf("handed back: %v", err)
			}
			s.Whole(before)
		})
	}
}
