package standard_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// checking is a builder that knows beforehand what fails.
type checking struct {
	*staged
	fails map[string]error

	mu      sync.Mutex
	checked map[string]lifecycle.BuildRequest
}

func (c *checking) Check(_ context.Context, r lifecycle.BuildRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked[r.State.Image.Name] = r
	return c.fails[r.State.Image.Name]
}

// TestBuildersAreAskedFirst wants all that builders know to be said together,
// before the first build begins, and in dry runs.
func TestBuildersAreAskedFirst(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	s.withThird()
	config, err := standard.Config(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	noSecret, noFile := errors.New("there is no secret"), errors.New("there is no file")
	builder := &checking{
		staged:  &staged{Builder: config.Builders["go"], before: func(context.Context, string) error { return nil }},
		fails:   map[string]error{"api": &lifecycle.BuildError{Image: "api", Reason: "no secret", Err: noSecret}, "stock": &lifecycle.BuildError{Image: "stock", Reason: "no file", Err: noFile}},
		checked: map[string]lifecycle.BuildRequest{},
	}
	config.Builders["go"] = builder
	l, err := lifecycle.New(config)
	if err != nil {
		t.Fatal(err)
	}
	reconcile := func(dry lifecycle.DryRun) error {
		clear(builder.checked)
		_, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository(), DryRun: dry})
		return err
	}
	for _, dry := range []lifecycle.DryRun{lifecycle.DryRunNone, lifecycle.DryRunClient, lifecycle.DryRunServer} {
		if err := reconcile(dry); !errors.Is(err, noSecret) || !errors.Is(err, noFile) || !errors.Is(err, lifecycle.ErrSource) || len(builder.begun) > 0 {
			t.Errorf("dry run %q: %v, and it began to build %v; want both failures, and no build", dry, err, builder.begun)
		}
		if r := builder.checked["stock"]; len(builder.checked) != 3 || r.Full.ID != s.head().Tree.ID || r.State.Fingerprint == "" || len(r.Images) > 0 {
			t.Errorf("dry run %q: asked about %d images, and about stock with %+v", dry, len(builder.checked), r.Images)
		}
	}
	s.nothingRecorded(c.Config())

	builder.fails = nil
	if err := reconcile(lifecycle.DryRunNone); err != nil || len(builder.begun) != 3 {
		t.Errorf("built %v, %v", builder.begun, err)
	}
	s.write(map[string]string{"services/api/m.go": "package main\n\nfunc main() { println() }\n"})
	s.commit("Change the api")
	if err := reconcile(lifecycle.DryRunNone); err != nil || len(builder.checked) != 1 {
		t.Errorf("asked about %d images, %v; want the one that has to be built", len(builder.checked), err)
	}
}

// closing notes when a build is over.
type closing struct {
	io.Writer
	close func()
}

func (c closing) Close() error { c.close(); return nil }

// TestABuildIsSaidToBegin when it does, and its output is closed when it ended,
// whether it failed or not.
func TestABuildIsSaidToBegin(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	var mu sync.Mutex
	var said []string
	say := func(what string) { mu.Lock(); defer mu.Unlock(); said = append(said, what) }
	config, err := standard.Config(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	config.Jobs = 1
	config.Builders["go"] = &staged{Builder: config.Builders["go"], before: func(_ context.Context, image string) error {
		say("begun " + image)
		if len(said) > 4 {
			return &lifecycle.BuildError{Image: image, Reason: "it is broken"}
		}
		return nil
	}}
	l, err := lifecycle.New(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Reconcile(t.Context(), lifecycle.ReconcileRequest{
		Commit: s.head(), Repository: s.repository(),
		Output: func(image string) io.Writer { return closing{io.Discard, func() { say("ended " + image) }} },
		Events: func(e lifecycle.Event) {
			if e.Type == lifecycle.EventImageBuilding || e.Type == lifecycle.EventImageBuilt {
				say(strings.TrimPrefix(string(e.Type), "image-") + " " + e.Image.Name)
			}
		},
	})
	if !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got %v, want the failure of the second build", err)
	}
	one, two := "api", "mail"
	if len(said) > 0 && strings.HasSuffix(said[0], two) {
		one, two = two, one
	}
	if want := []string{"building " + one, "begun " + one, "ended " + one, "built " + one, "building " + two, "begun " + two, "ended " + two}; !slices.Equal(said, want) {
		t.Errorf("got %v\nwant %v", said, want)
	}
}
