package restore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// The test program restores in a process of its own, which can be killed.
const killedEnv = "PHAROS_TEST_RESTORE"

// life is what such a process does.
type life struct {
	Kubeconfig, Namespace string
	// Write is that at which it dies, counted from 1: before it is made, or when the
	// server has answered if Late is set.
	Write int
	Late  bool
}

func TestMain(m *testing.M) {
	if task := os.Getenv(killedEnv); task != "" {
		var l life
		err := json.Unmarshal([]byte(task), &l)
		if err == nil {
			err = l.live()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// live makes one pass.
func (l life) live() error {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		return err
	}
	writes := 0 // that were made: one that meets a rollout's is made again
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return next.RoundTrip(r)
			}
			if writes+1 == l.Write && !l.Late {
				die()
			}
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode < http.StatusBadRequest {
				writes++
			}
			if writes == l.Write {
				die()
			}
			return resp, err
		})
	})
	r, err := restorer(config, l.Namespace, nil)
	if err != nil {
		return err
	}
	_, err = r.Pass(context.Background())
	return err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// die ends this process as nothing else can.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the signal is on its way
}

// run lives in a process of its own, and says whether it was killed.
func (l life) run(t *testing.T) (killed bool) {
	t.Helper()
	task, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	// The race detector has a process sleep for a second before it exits.
	cmd.Env = append(os.Environ(), killedEnv+"="+string(task), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Exited()) {
		t.Fatal(err)
	}
	return err != nil
}

// Killed before or after each of its writes, it leaves what the next one finishes.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	// That it is ending; two for each workload; the session object.
	const writes = 6
	for _, late := range []bool{false, true} {
		for n := 1; n <= writes+1; n++ {
			t.Run(fmt.Sprintf("write %d, late: %t", n, late), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.takenOver(time.Hour, 0, "api", "web")
				for name := range b.was { // a write that meets that of a rollout is made again
					b.settled(name)
				}
				b.release()
				l := life{Kubeconfig: devtest.Kubeconfig(t, b.cluster.Config()), Namespace: b.namespace, Write: n, Late: late}
				if killed := l.run(t); killed != (n <= writes) {
					t.Errorf("killed: %t", killed)
				}
				_, err := b.store.Load(t.Context())
				gone := errors.Is(err, journal.ErrNone)
				if gone && n < writes || !gone && n > writes {
					t.Errorf("killed at write %d, the session object: %v", n, err)
				}
				if report := b.pass(b.restorer(b.cluster.Config(), nil)); report.Done == gone {
					t.Errorf("got %+v", report)
				}
				b.whole(false)
			})
		}
	}
}

// Whatever becomes of any of its writes, all is whole after a few passes at most.
func TestFaultsAtEveryWrite(t *testing.T) {
	t.Parallel()
	writing := regexp.MustCompile("^(PATCH|DELETE)$")
	for name, do := range map[string]faultproxy.Action{
		"409": faultproxy.Answer(http.StatusConflict), "429": faultproxy.TooManyRequests(0), "500": faultproxy.Answer(http.StatusInternalServerError),
		"no answer": faultproxy.Stall(), "a cut": faultproxy.Cut(),
	} {
		for _, after := range []bool{false, true} {
			for write := range 4 {
				t.Run(fmt.Sprintf("%s, after: %t, write %d", name, after, write+1), func(t *testing.T) {
					t.Parallel()
					b := newBench(t)
					b.takenOver(time.Hour, 0, "api")
					b.settled("api")
					b.release()
					proxy, err := faultproxy.ForCluster(b.cluster.Config())
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(proxy.Close)
					fault := proxy.Add(faultproxy.Rule{Match: func(r *http.Request) bool { return writing.MatchString(r.Method) }, Skip: write, Times: 1, AfterUpstream: after, Do: do})
					config := proxy.Config(b.cluster.Config())
					config.Timeout = 2 * time.Second
					r := b.restorer(config, nil)
					restored := false
					for range 3 {
						report, err := r.Pass(t.Context())
						for _, w := range report.Workloads {
							restored = restored || w.Outcome == divert.OutcomeRestored
						}
						if err == nil {
							break
						}
						t.Log(err)
					}
					if fault.Hits() != 1 || !restored {
						t.Errorf("%d hits, and it said that it restored it: %t", fault.Hits(), restored)
					}
					b.whole(false)
				})
			}
		}
	}
}
