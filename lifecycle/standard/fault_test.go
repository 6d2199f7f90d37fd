package standard_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// TestFaultAtEachWrite has the API server fail once at the nth write of a
// delivery, for every n, before or after it did what it was asked for. The
// delivery succeeds or ends with an error that says what failed, and the next
// one ends right.
func TestFaultAtEachWrite(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name  string
		do    faultproxy.Action
		after bool
	}{
		{"409", faultproxy.Answer(http.StatusConflict), false},
		{"429", faultproxy.TooManyRequests(time.Second), false},
		{"500", faultproxy.Answer(http.StatusInternalServerError), false},
		{"500 afterwards", faultproxy.Answer(http.StatusInternalServerError), true},
		{"cut", faultproxy.Cut(), false},
		{"cut afterwards", faultproxy.Cut(), true},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			c := devtest.Cluster(t)
			s := newShop(t, c)
			s.reconcile(c.Config())
			for n := 0; ; n++ {
				s.write(map[string]string{"gitops/settings.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {n: %q}\n", fmt.Sprint(n))})
				head := s.commit(fmt.Sprint("Change ", n))
				if !s.faultAtWrite(c.Config(), n, fault.do, fault.after) {
					if n < 8 {
						t.Errorf("a delivery has only %d writes: the faults did not reach them", n)
					}
					return
				}
				st := s.status(c.Config())
				if !st.IsLive() || st.Live.Record.Commit != head {
					t.Errorf("fault at write %d: not live at the commit: %+v", n, st)
				}
			}
		})
	}
}

// faultAtWrite delivers HEAD through a proxy that fails once after n writes, and
// once more without it. It returns false if the delivery has no such write.
func (s *shop) faultAtWrite(cfg *rest.Config, n int, do faultproxy.Action, after bool) bool {
	s.t.Helper()
	proxy, err := faultproxy.ForCluster(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	defer proxy.Close()
	fault := proxy.Add(faultproxy.Rule{
		Match: func(r *http.Request) bool { return r.Method != http.MethodGet }, Skip: n, Times: 1, AfterUpstream: after, Do: do,
	})
	_, err = s.lifecycle(proxy.Config(cfg)).Reconcile(s.t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Timeout: time.Minute})
	if err != nil {
		s.t.Logf("write %d: %v", n, err)
		if _, err := s.lifecycle(cfg).Reconcile(s.t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Wait: patience}); err != nil {
			s.t.Errorf("after a fault at write %d, the next delivery: %v", n, err)
		}
	}
	return fault.Hits() > 0
}

// TestServerThatNeverAnswers ends clearly, whatever the way in which it fails.
func TestServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	first := s.reconcile(c.Config())
	s.write(map[string]string{"gitops/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {n: never}\n"})
	s.commit("Change the settings")
	for name, do := range map[string]faultproxy.Action{
		"500": faultproxy.Answer(http.StatusInternalServerError), "401": faultproxy.Answer(http.StatusUnauthorized),
		"403": faultproxy.Answer(http.StatusForbidden), "cut": faultproxy.Cut(),
	} {
		t.Run(name, func(t *testing.T) {
			proxy, err := faultproxy.ForCluster(c.Config())
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close()
			proxy.Add(faultproxy.Rule{Do: do})
			_, err = s.lifecycle(proxy.Config(c.Config())).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
			if !errors.Is(err, lifecycle.ErrUnreachable) {
				t.Errorf("got %v, want an ErrUnreachable", err)
			}
		})
	}
	if st := s.status(c.Config()); !st.IsLive() || st.Live.ID != first.Receipt {
		t.Errorf("something was recorded: %+v", st)
	}
}

// TestServerThatStalls takes requests and never answers.
func TestServerThatStalls(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	proxy, err := faultproxy.ForCluster(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	proxy.Add(faultproxy.Rule{Do: faultproxy.Stall()})
	cfg := proxy.Config(c.Config())
	cfg.Timeout = 100 * time.Millisecond
	if _, err := s.lifecycle(cfg).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()}); !errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("got %v, want an ErrUnreachable", err)
	}
}

// TestRegistryThatIsGone ends clearly, before anything is recorded.
func TestRegistryThatIsGone(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	target := s.target()
	target.Registry.Push = "127.0.0.1:1/gone" // nothing listens on the first port
	l, err := standard.New(target, s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()}); !errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("got %v, want an ErrUnreachable", err)
	}
	if st := s.status(c.Config()); st.Applied != nil {
		t.Errorf("something was recorded: %+v", st)
	}
}

// TestBuildFailureRecordsNothing wants all images or none.
func TestBuildFailureRecordsNothing(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.write(map[string]string{"services/mail/m.go": "package main\n\nimport _ \"shop.example/libs/price\"\n\nfunc main() {}\n"})
	s.commit("Use a library that is not declared")
	_, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
	var build *lifecycle.BuildError
	if !errors.As(err, &build) || !errors.Is(err, lifecycle.ErrSource) || build.Image != "mail" {
		t.Fatalf("got %v, want a BuildError of mail", err)
	}
	if len(build.Missing) != 1 || build.Missing[0].Path != "libs/price" {
		t.Errorf("missing %+v, want libs/price", build.Missing)
	}
	if st := s.status(c.Config()); st.Applied != nil {
		t.Errorf("something was recorded: %+v", st)
	}
}
