package argocd_test

import (
	"context"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
)

// ownShop is a shop with a cluster and an Argo CD of its own, which a test may
// break.
func ownShop(t *testing.T) *shop {
	t.Helper()
	return newShop(t, devtest.OwnArgoCD(t, devtest.OwnCluster(t, devenv.Options{})))
}

// The application controller, or the API server, is away in the middle of a
// delivery: what an Application says then is of before, and is no proof of
// anything. The delivery goes on when they are back.
func TestAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	s := ownShop(t)
	s.root(automated)
	s.deliver(s.commit(s.appOfApps(automated, "api")))
	step := func(what string, away, back func(context.Context) error) {
		if err := away(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		// A commit without a difference would look live at once, if the old
		// status were believed.
		d := s.mustPoint(map[string]string{"README.md": what + "\n"})
		err := s.failsSaying(lifecycle.ErrUnreachable, d, "has not answered")
		mustContain(t, err.Error(), "application controller runs")
		if err := back(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := s.wait(t.Context(), d, patience); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, s.dump())
		}
	}
	step("stopped", s.argo.StopController, s.argo.StartController)
	step("paused", s.argo.PauseController, s.argo.ResumeController)
}

// An operation that is told to end while the controller is away is waited for,
// however short operations of others are.
func TestAwayWhileAnOperationEnds(t *testing.T) {
	t.Parallel()
	s := ownShop(t)
	s.operationWait = time.Nanosecond
	s.root(automated)
	files := s.single("      nodeSelector: {there: is-none}\n")
	files["root/kustomization.yaml"] = "namespace: " + s.name + "\nresources: [api.yaml, later.yaml]\n"
	files["root/later.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: later, annotations: {argocd.argoproj.io/sync-wave: \"1\"}}\n"
	s.mustPoint(files)
	s.await(s.name, "status.operationState.message", "waiting for healthy state of apps/Deployment/api")
	if err := s.argo.PauseController(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy, err := faultproxy.ForCluster(s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	s.config = proxy.Config(s.config)
	c := s.commit(s.single(""))
	pointed := make(chan error, 1)
	go func() {
		_, err := s.point(t.Context(), c)
		pointed <- err
	}()
	s.await(s.name, "status.operationState.phase", "Terminating")
	// It looks more than once whether the operation has ended.
	looks := proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("/applications/" + s.name + "$"), Skip: 1, Do: faultproxy.Stall()})
	select {
	case <-looks.Reached():
	case err := <-pointed:
		t.Fatalf("it has not waited: %v", err)
	}
	looks.Remove()
	if err := s.argo.ResumeController(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-pointed; err != nil {
		t.Fatalf("%v\n%s", err, s.dump())
	}
}

func TestAPIServerRestartsInTheMiddle(t *testing.T) {
	t.Parallel()
	s := ownShop(t)
	s.root(automated)
	files := s.appOfApps(automated, "api")
	s.deliver(s.commit(files))
	// The wait is under way when the server goes: nothing can become live before,
	// since the controller does not run.
	if err := s.argo.PauseController(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.images[0].Digest = digest(8)
	d := s.mustPoint(map[string]string{"README.md": "another\n"})
	ended := make(chan error, 1)
	waiting := make(chan struct{}, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r := d.observe()
		r.Seen, r.Applications, r.Guard = d.result.Seen, d.result.Applications, d.request.Guard
		r.Progress = func(lifecycle.Observation) {
			select {
			case waiting <- struct{}{}:
			default:
			}
		}
		var err error
		d.seen, err = s.deliverer().Wait(ctx, r)
		ended <- err
	}()
	select {
	case <-waiting:
	case err := <-ended:
		t.Fatalf("the wait has ended before: %v", err)
	}
	if err := s.argo.Cluster().Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.argo.ResumeController(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, s.dump())
	}
	s.runs("api", ref("api", 8))
}
