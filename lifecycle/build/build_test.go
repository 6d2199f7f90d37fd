package build_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build"
)

// builderFunc is a builder.
type builderFunc func(context.Context, lifecycle.BuildRequest) (lifecycle.BuildResult, error)

func (f builderFunc) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	return f(ctx, r)
}

func request(repository string, n int) lifecycle.BuildRequest {
	return lifecycle.BuildRequest{
		Repository: repository,
		State: catalogue.State{
			Fingerprint: catalogue.Fingerprint(fmt.Sprintf("sha256:%064x", n)),
			Image:       catalogue.Image{Name: "api", Build: catalogue.Build{Go: &catalogue.GoBuild{}}},
		},
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{3, 1, 0, -1} {
		at := max(limit, 1)
		var running, most, ended atomic.Int64
		full := make(chan struct{}, 100)
		release := make(chan struct{})
		b := build.Limit(builderFunc(func(context.Context, lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
			n := running.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			full <- struct{}{}
			<-release
			running.Add(-1)
			ended.Add(1)
			return lifecycle.BuildResult{Digest: "d"}, nil
		}), limit)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if res, err := b.Build(t.Context(), request("r", 1)); err != nil || res.Digest != "d" {
					t.Errorf("got %v, %v", res, err)
				}
			})
		}
		for range at {
			<-full // as many as may, do
		}
		// One that waits ends with its ctx.
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		waited := make(chan error, 1)
		go func() {
			_, err := b.Build(ctx, request("r", 1))
			waited <- err
		}()
		cancel(why)
		if err := <-waited; !errors.Is(err, why) {
			t.Errorf("one that waited ended with %v", err)
		}
		close(release)
		all.Wait()
		if most.Load() != int64(at) || ended.Load() != 20 {
			t.Errorf("limit %d: %d at once, %d in all", limit, most.Load(), ended.Load())
		}
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	var events []build.Event // written by the sink without a lock of its own
	var clock sync.Mutex
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	now := func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		at = at.Add(time.Second)
		return at
	}
	failure := &lifecycle.BuildError{Image: "api", Reason: "it does not compile"}
	b := build.Record(builderFunc(func(_ context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
		if r.Repository == "fails" {
			return lifecycle.BuildResult{}, failure
		}
		return lifecycle.BuildResult{Digest: "d", Size: 7}, nil
	}), now, func(e build.Event) { events = append(events, e) })
	if res, err := b.Build(t.Context(), request("works", 1)); err != nil || res.Digest != "d" {
		t.Errorf("got %v, %v", res, err)
	}
	if _, err := b.Build(t.Context(), request("fails", 2)); err != error(failure) {
		t.Errorf("got %v", err)
	}
	second := func(n int) time.Time { return time.Date(2026, 5, 1, 11, 0, n, 0, time.UTC) }
	fingerprint := func(n int) catalogue.Fingerprint { return request("", n).State.Fingerprint }
	want := []build.Event{
		{Type: build.EventBegan, Time: second(1), Image: "api", Kind: "go", Fingerprint: fingerprint(1), Repository: "works"},
		{Type: build.EventEnded, Time: second(2), Image: "api", Kind: "go", Fingerprint: fingerprint(1), Repository: "works", Took: time.Second,
			Result: &lifecycle.BuildResult{Digest: "d", Size: 7}},
		{Type: build.EventBegan, Time: second(3), Image: "api", Kind: "go", Fingerprint: fingerprint(2), Repository: "fails"},
		{Type: build.EventEnded, Time: second(4), Image: "api", Kind: "go", Fingerprint: fingerprint(2), Repository: "fails", Took: time.Second,
			Err: failure, Error: failure.Error()},
	}
	if diff := cmp.Diff(want, events, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	events = nil
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			if _, err := b.Build(t.Context(), request("works", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(events) != 100 {
		t.Errorf("%d events of 50 builds", len(events))
	}
}

// randomIndex is an image index of no particular content.
func randomIndex(t *testing.T) v1.ImageIndex {
	t.Helper()
	img, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex),
		mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
}
