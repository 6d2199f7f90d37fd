package build_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

func newRegistry(t *testing.T) *registry.Registry {
	t.Helper()
	reg, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// pushing builds by pushing an image of no particular content, and counts.
func pushing(t *testing.T, reg *registry.Registry) (b lifecycle.Builder, count *atomic.Int64) {
	count = new(atomic.Int64)
	index := randomIndex(t)
	return builderFunc(func(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
		count.Add(1)
		digest, err := reg.Push(ctx, r.Repository, index, r.State.Fingerprint)
		return lifecycle.BuildResult{Digest: digest}, err
	}), count
}

func TestCache(t *testing.T) {
	t.Parallel()
	host, reg := devtest.Registry(t), newRegistry(t)
	inner, count := pushing(t, reg)
	b := build.Cache(inner, reg)
	must := func(r lifecycle.BuildRequest, builds int64) lifecycle.BuildResult {
		t.Helper()
		res, err := b.Build(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if count.Load() != builds {
			t.Fatalf("%d builds, want %d", count.Load(), builds)
		}
		return res
	}
	first := must(request(host+"/dev/api", 1), 1)
	if again := must(request(host+"/dev/api", 1), 1); again.Digest != first.Digest {
		t.Errorf("the result is %v, and was %v", again, first)
	}
	must(request(host+"/dev/api", 2), 2)
	must(request(host+"/dev/web", 1), 3)
	must(request(host+"/dev/api", 1), 3)

	// What the registry lost is built again, once.
	ref, err := name.NewDigest(host + "/dev/api@" + string(first.Digest))
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Delete(ref); err != nil {
		t.Fatal(err)
	}
	must(request(host+"/dev/api", 1), 4)
	must(request(host+"/dev/api", 1), 4)

	// Of what is built from nothing that is known, nothing is known.
	none := request(host+"/dev/none", 1)
	none.State.Fingerprint = ""
	plain := build.Cache(builderFunc(func(context.Context, lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
		count.Add(1)
		return lifecycle.BuildResult{}, nil
	}), reg)
	for range 2 {
		if _, err := plain.Build(t.Context(), none); err != nil {
			t.Fatal(err)
		}
	}
	if count.Load() != 6 {
		t.Errorf("%d builds, want 6", count.Load())
	}
}

// A registry that cannot be asked is no registry that has the image.
func TestCacheIsNoEvidence(t *testing.T) {
	t.Parallel()
	proxy, err := faultproxy.Start("http://"+devtest.Registry(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	reg := newRegistry(t)
	inner, count := pushing(t, reg)
	b := build.Cache(inner, reg)
	r := request(proxy.Host()+"/dev/api", 1)
	if _, err := b.Build(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	proxy.Add(faultproxy.Rule{Do: faultproxy.Answer(http.StatusForbidden), Times: 1})
	if _, err := b.Build(t.Context(), r); !errors.Is(err, lifecycle.ErrUnreachable) || count.Load() != 1 {
		t.Errorf("got %v after %d builds, want an ErrUnreachable after one", err, count.Load())
	}
	if _, err := b.Build(t.Context(), r); err != nil || count.Load() != 1 {
		t.Errorf("got %v after %d builds", err, count.Load())
	}
}

// outcome is how a build ended.
type outcome struct {
	lifecycle.BuildResult
	err error
}

// together starts a build that ends as first says when it is told to, and five
// more of the same that find it at work. All but the first build that is run
// succeed. It returns how they ended, the first one first, and how many were run.
func together(t *testing.T, first func(ctx context.Context) error, cancel bool) (outcomes []outcome, builds int64) {
	var count atomic.Int64
	release := make(chan struct{})
	b := build.Cache(builderFunc(func(ctx context.Context, _ lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
		if count.Add(1) > 1 {
			return lifecycle.BuildResult{Digest: "second"}, nil
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return lifecycle.BuildResult{Digest: "first"}, first(ctx)
	}), nothing{})
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	outcomes = make([]outcome, 6)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					outcomes[i].err = errPanic
				}
			}()
			ctx := ctx
			if i > 0 {
				ctx = t.Context()
			}
			res, err := b.Build(ctx, request("localhost:1/dev/api", 1))
			outcomes[i] = outcome{res, err}
		})
		synctest.Wait() // until it builds or waits
	}
	if cancel {
		end(errCancelled)
	}
	close(release)
	all.Wait()
	return outcomes, count.Load()
}

var (
	errPanic     = errors.New("it panicked")
	errCancelled = errors.New("the first one was cancelled")
)

// nothing is a registry that has everything.
type nothing struct{}

func (nothing) Verify(context.Context, string, lifecycle.Digest) (lifecycle.RegistryImage, error) {
	return lifecycle.RegistryImage{}, nil
}

// Of several builds of the same at the same time one builds, and the others have
// what it has, unless it failed for a reason of its own.
func TestCacheBuildsOnceAtATime(t *testing.T) {
	t.Parallel()
	fails := &lifecycle.BuildError{Image: "api", Reason: "it does not compile"}
	for name, tt := range map[string]struct {
		first  func(context.Context) error
		cancel bool
		err    error  // of the first one
		others string // what the others have; all its error if it is empty
		builds int64
	}{
		"success":         {func(context.Context) error { return nil }, false, nil, "first", 1},
		"bad inputs":      {func(context.Context) error { return fails }, false, fails, "", 1},
		"bad registry":    {func(context.Context) error { return lifecycle.ErrUnreachable }, false, lifecycle.ErrUnreachable, "second", 2},
		"cancelled":       {context.Cause, true, errCancelled, "second", 2},
		"one that panics": {func(context.Context) error { panic("no") }, false, errPanic, "second", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				outcomes, builds := together(t, tt.first, tt.cancel)
				if !errors.Is(outcomes[0].err, tt.err) || builds != tt.builds {
					t.Errorf("the first one ended with %v, after %d builds", outcomes[0].err, builds)
				}
				for _, o := range outcomes[1:] {
					if tt.others == "" && !errors.Is(o.err, tt.err) || tt.others != "" && (o.err != nil || string(o.Digest) != tt.others) {
						t.Errorf("another one ended with %v", o)
					}
				}
			})
		})
	}
}

// One that waits for another's build ends with its own ctx.
func TestCacheWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := build.Cache(builderFunc(func(context.Context, lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
			<-release
			return lifecycle.BuildResult{}, nil
		}), nothing{})
		var first sync.WaitGroup
		first.Go(func() {
			if _, err := b.Build(t.Context(), request("r", 1)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCancelled)
		if _, err := b.Build(ctx, request("r", 1)); !errors.Is(err, errCancelled) {
			t.Errorf("got %v", err)
		}
		close(release)
		first.Wait()
	})
}
