package standard_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// staged is the Go builder, which builds an image only after a function has
// returned, and not if that returns an error.
type staged struct {
	lifecycle.Builder
	before func(ctx context.Context, image string) error

	mu    sync.Mutex
	begun []string
}

func (s *staged) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	s.mu.Lock()
	s.begun = append(s.begun, r.State.Image.Name)
	s.mu.Unlock()
	if err := s.before(ctx, r.State.Image.Name); err != nil {
		return lifecycle.BuildResult{}, err
	}
	return s.Builder.Build(ctx, r)
}

// stage delivers HEAD with builds that begin after a function, jobs at once.
func (s *shop) stage(ctx context.Context, cfg *rest.Config, jobs int, r lifecycle.ReconcileRequest, before func(context.Context, string) error) (*recorder, *staged, error) {
	s.t.Helper()
	c, err := standard.Config(s.target(), s.options(cfg))
	if err != nil {
		s.t.Fatal(err)
	}
	builder := &staged{Builder: c.Builders["go"], before: before}
	c.Builders["go"], c.Jobs = builder, jobs
	l, err := lifecycle.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	rec := &recorder{}
	r.Commit, r.Repository, r.Events = s.head(), s.repository(), rec.event
	_, err = l.Reconcile(ctx, r)
	return rec, builder, err
}

// reused are the images that the registry had.
func (r *recorder) reused() (names []string) {
	for _, e := range r.events {
		if e.Type == lifecycle.EventImageReused {
			names = append(names, e.Image.Name)
		}
	}
	slices.Sort(names)
	return names
}

// withThird adds an image stock, which is built on mail, behind the others.
func (s *shop) withThird() {
	s.t.Helper()
	yaml := s.git("show", "HEAD:pharos.yaml") + "\n"
	yaml = strings.Replace(yaml, "delivery:", "- name: stock\n  build: {go: {package: ./services/stock, base: mail}}\n  inputs: [services/stock, go.mod]\ndelivery:", 1)
	s.write(map[string]string{"pharos.yaml": yaml, "services/stock/m.go": "package main\n\nfunc main() {}\n"})
	s.commit("Keep a stock")
}

func (s *shop) nothingRecorded(cfg *rest.Config) {
	s.t.Helper()
	if st := s.status(cfg); st.Applied != nil || st.Lease.Held {
		s.t.Errorf("something was recorded: %+v", st)
	}
	store, err := s.receipts(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	if list, err := store.List(s.t.Context()); err != nil || len(list) > 0 {
		s.t.Errorf("receipts: %+v, %v", list, err)
	}
}

// TestAFailedBuildLetsTheOthersFinish and has no further one begin. The next
// delivery builds what is left.
func TestAFailedBuildLetsTheOthersFinish(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.withThird()
	mailBegun, apiEnds, apiFailed := make(chan struct{}), make(chan struct{}), errors.New("the api's tests fail")
	rec, builder, err := s.stage(t.Context(), c.Config(), 4, lifecycle.ReconcileRequest{}, func(ctx context.Context, image string) error {
		if image == "mail" {
			close(mailBegun)
			<-apiEnds // and it is still to be compiled then
			return nil
		}
		<-mailBegun
		close(apiEnds)
		return &lifecycle.BuildError{Image: image, Reason: "it is broken", Err: apiFailed}
	})
	var build *lifecycle.BuildError
	if !errors.As(err, &build) || !errors.Is(err, apiFailed) || strings.Contains(err.Error(), "stock") || strings.Contains(err.Error(), "mail") {
		t.Errorf("got %v, want the failure of api alone", err)
	}
	if got := rec.built(); !slices.Equal(got, []string{"mail"}) {
		t.Errorf("it built %v, want what had begun when another one failed", got)
	}
	if slices.Contains(builder.begun, "stock") {
		t.Error("a build began after another one failed")
	}
	s.nothingRecorded(c.Config())

	rec, _, err = s.stage(t.Context(), c.Config(), 4, lifecycle.ReconcileRequest{}, func(context.Context, string) error { return nil })
	if err != nil || !slices.Equal(rec.reused(), []string{"mail"}) || !slices.Equal(rec.built(), []string{"api", "stock"}) {
		t.Errorf("the next one reused %v and built %v, %v", rec.reused(), rec.built(), err)
	}
}

// TestCancelBuilds ends the builds that have begun when another one fails.
func TestCancelBuilds(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	mailBegun := make(chan struct{})
	rec, _, err := s.stage(t.Context(), c.Config(), 4, lifecycle.ReconcileRequest{CancelBuilds: true}, func(ctx context.Context, image string) error {
		if image == "mail" {
			close(mailBegun)
			<-ctx.Done()
			return ctx.Err()
		}
		<-mailBegun
		return &lifecycle.BuildError{Image: image, Reason: "it is broken"}
	})
	var build *lifecycle.BuildError
	if !errors.As(err, &build) || build.Image != "api" || strings.Contains(err.Error(), "mail") || errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the failure of api alone", err)
	}
	if got := rec.built(); len(got) > 0 {
		t.Errorf("it built %v", got)
	}
	s.nothingRecorded(c.Config())
}

// TestAllFailuresAreReported together, in the order of the catalogue.
func TestAllFailuresAreReported(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	var both sync.WaitGroup
	both.Add(2)
	_, _, err := s.stage(t.Context(), c.Config(), 4, lifecycle.ReconcileRequest{}, func(_ context.Context, image string) error {
		both.Done()
		both.Wait()
		return &lifecycle.BuildError{Image: image, Reason: "it is broken"}
	})
	if err == nil || !errors.Is(err, lifecycle.ErrSource) || !regexp.MustCompile(`(?s)^build image api: .*build image mail: `).MatchString(err.Error()) {
		t.Errorf("got %v, want both failures", err)
	}
	s.nothingRecorded(c.Config())
}

// TestInterruptedBuilds end with the reason why the caller ended them.
func TestInterruptedBuilds(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("somebody pressed Ctrl-C")
	var both sync.WaitGroup
	both.Add(2)
	_, _, err := s.stage(ctx, c.Config(), 4, lifecycle.ReconcileRequest{}, func(ctx context.Context, image string) error {
		both.Done()
		both.Wait()
		cancel(why)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, why) || strings.Count(err.Error(), why.Error()) != 1 {
		t.Errorf("got %v, want why, once", err)
	}
	s.nothingRecorded(c.Config())
}

// TestRegistryThatDies breaks off after the first image, and comes back.
func TestRegistryThatDies(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	proxy := s.throughProxy()
	s.commit("Go through the proxy")
	var fault *faultproxy.Fault
	first := ""
	rec, _, err := s.stage(t.Context(), c.Config(), 1, lifecycle.ReconcileRequest{}, func(_ context.Context, image string) error {
		if first != "" { // the first one is there
			fault = proxy.Add(faultproxy.Rule{Do: faultproxy.Cut()})
		}
		first = image
		return nil
	})
	if !errors.Is(err, lifecycle.ErrUnreachable) || fault.Hits() == 0 {
		t.Fatalf("got %v, want an ErrUnreachable after the registry died", err)
	}
	done := rec.built()
	if len(done) != 1 {
		t.Fatalf("it built %v, want one", done)
	}
	s.nothingRecorded(c.Config())

	fault.Remove()
	before := len(proxy.Requests())
	rec, _, err = s.stage(t.Context(), c.Config(), 1, lifecycle.ReconcileRequest{}, func(context.Context, string) error { return nil })
	if err != nil || !slices.Equal(rec.reused(), done) || len(rec.built()) != 1 {
		t.Errorf("the next one reused %v and built %v, %v", rec.reused(), rec.built(), err)
	}
	for _, r := range proxy.Requests()[before:] {
		if r.Method == http.MethodPatch && strings.Contains(r.Path, "/"+done[0]+"/") {
			t.Errorf("a blob of %s was sent again: %s", done[0], r.Path)
		}
	}
}

// TestKilledInABuild kills a process with SIGKILL when its second build begins.
// The next delivery reuses the first image.
func TestKilledInABuild(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.dieIn(c, killed{Build: 2})
	s.nothingRecorded(c.Config())
	rec := &recorder{}
	if _, err := s.lifecycle(c.Config()).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), Events: rec.event}); err != nil {
		t.Fatal(err)
	}
	if both := append(rec.reused(), rec.built()...); len(rec.built()) != 1 || sortedWords(both) != "api mail" {
		t.Errorf("it reused %v and built %v, want one of each", rec.reused(), rec.built())
	}
}
