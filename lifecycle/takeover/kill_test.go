package takeover_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
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
}

const killedEnv = "PHAROS_TEST_KILLED"

func TestMain(m *testing.M) {
	if task := os.Getenv(killedEnv); task != "" {
		if err := runAndDie(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(3) // it should have been killed
	}
	os.Exit(m.Run())
}

// die ends this process as nothing else can.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the signal is on its way
}

// runAndDie takes over, hands back, and sends itself SIGKILL on the way.
func runAndDie(task string) error {
	var k killed
	if err := json.Unmarshal([]byte(task), &k); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := takeovertest.Config(ctx, k.Dir, k.Namespace, config, lease.Timing{})
	if err != nil {
		return err
	}
	var s *takeover.Session
	c.Events = func(e takeover.Event) {
		if e.Type == k.At && e.Step == k.Step {
			die()
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
	task, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), killedEnv+"="+string(task))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() || ctx.Err() != nil {
		t.Fatalf("the process ended by itself: %v\n%s", err, out)
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
