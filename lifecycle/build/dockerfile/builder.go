package dockerfile

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// Registry answers for what BuildKit pushed; *registry.Registry is one. It must
// be safe for concurrent use.
type Registry interface {
	// Lookup asks for the image index of a digest.
	Lookup(ctx context.Context, repository string, digest lifecycle.Digest) (lifecycle.RegistryImage, error)
	// Image returns one platform's image behind a reference by digest.
	Image(ctx context.Context, reference, platform string) (v1.Image, error)
}

// Config is what a builder works with.
type Config struct {
	// Backend is how BuildKit is reached. It is required.
	Backend Backend
	// Registry is asked for every image that was built. It is required.
	Registry Registry
	// Log receives, at level debug, how long each step took. The default
	// discards it.
	Log *slog.Logger
}

// Builder builds images of Dockerfiles. It is safe for concurrent use.
type Builder struct {
	backend  Backend
	registry Registry
	log      *slog.Logger
	// fitting holds, as baseKey, which bases were found to be for which platforms:
	// what a digest leads to stays as it is.
	fitting sync.Map
}

var (
	_ lifecycle.Builder = (*Builder)(nil)
	_ lifecycle.Checker = (*Builder)(nil)
)

// New returns a Builder. It fails if there is no backend or no registry.
// Neither is asked for anything yet.
func New(c Config) (*Builder, error) {
	switch {
	case c.Backend == nil:
		return nil, errors.New("set up the Dockerfile builder: no backend is given")
	case c.Registry == nil:
		return nil, errors.New("set up the Dockerfile builder: no registry is given")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Builder{backend: c.Backend, registry: c.Registry, log: c.Log}, nil
}

// build is one image being built.
type build struct {
	*Builder
	request lifecycle.BuildRequest
	recipe  *catalogue.DockerfileBuild
	file    string // the Dockerfile's path
	// early says that images it is built on may not be there yet.
	early bool
}

// start is the build of a request.
func (b *Builder) start(r lifecycle.BuildRequest) (*build, error) {
	recipe := r.State.Image.Build.Dockerfile
	if recipe == nil {
		return nil, &lifecycle.BuildError{Image: r.State.Image.Name, Reason: "its recipe is not one for a Dockerfile"}
	}
	if r.Output == nil {
		r.Output = io.Discard
	}
	if r.Full.Objects == nil {
		r.Full = r.State.Inputs
	}
	return &build{Builder: b, request: r, recipe: recipe, file: dockerfilePath(recipe)}, nil
}

// stopped is the error of a build whose ctx has ended.
func (b *build) stopped(ctx context.Context) error {
	return &lifecycle.Error{Op: "build image", On: b.request.State.Image.Name, Err: context.Cause(ctx)}
}

// Build implements [lifecycle.Builder]. Errors that the image's inputs cause are
// *[lifecycle.BuildError]; those of BuildKit, the registry and their machines
// are *[lifecycle.Error], and hold a *[NotSuppliedError] if secrets are not
// there; if ctx ends, the error matches its cause.
func (b *Builder) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	run, err := b.start(r)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	res, err := run.run(ctx)
	if err != nil && ctx.Err() != nil {
		return lifecycle.BuildResult{}, run.stopped(ctx)
	}
	return res, err
}

func (b *build) run(ctx context.Context) (lifecycle.BuildResult, error) {
	start := time.Now()
	p, err := b.plan(ctx)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	solve, err := b.solve(p)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	b.step(ctx, "read the Dockerfile", &start)
	solved, err := b.backend.Solve(ctx, solve)
	if err != nil {
		return lifecycle.BuildResult{}, b.explain(ctx, p, err)
	}
	b.step(ctx, "built and pushed", &start)
	res, err := b.result(ctx, solved)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	b.step(ctx, "asked the registry for it", &start)
	return res, nil
}

// platforms are those of the image, sorted.
func (b *build) platforms() []string {
	platforms := slices.Clone(b.request.State.Image.Platforms)
	slices.Sort(platforms)
	return slices.Compact(platforms)
}

func (b *build) step(ctx context.Context, what string, since *time.Time) {
	now := time.Now()
	b.log.DebugContext(ctx, what, "image", b.request.State.Image.Name, "took", now.Sub(*since))
	*since = now
}

// solve says what BuildKit is to do.
func (b *build) solve(p *plan) (Solve, error) {
	tag, err := registry.Tag(b.request.State.Fingerprint)
	if err != nil {
		return Solve{}, &lifecycle.Error{Op: "build image", On: b.request.State.Image.Name, Err: err}
	}
	policy, err := policyOf(p.pins)
	if err != nil {
		return Solve{}, &lifecycle.Error{Op: "build image", On: b.request.State.Image.Name, Err: err}
	}
	return Solve{
		Image: b.request.State.Image.Name, Fingerprint: b.request.State.Fingerprint, Inputs: b.request.State.Inputs,
		Frontend: p.frontend, Options: b.options(p), Pins: p.pins, Policy: policy, Platforms: b.platforms(), Epoch: p.epoch, BasePlatforms: basePlatforms(p),
		Repository: b.request.Repository, Tag: tag,
		Annotations: map[string]string{keys.Fingerprint: string(b.request.State.Fingerprint)},
		Secrets:     sorted(b.recipe.Secrets), SSH: sorted(b.recipe.SSH),
		Output: b.request.Output,
	}, nil
}

// options are the attributes for the frontend.
func (b *build) options(p *plan) map[string]string {
	options := map[string]string{
		"filename":       b.file,
		"platform":       strings.Join(b.platforms(), ","),
		"multi-platform": "true",
		// Times in the image's configuration and layers, and what an ARG of that
		// name holds.
		"build-arg:" + epochArg: "0",
		// RUN --mount=type=cache of one image does not see what another one's wrote,
		// who may not trust each other.
		"build-arg:" + cacheArg: b.request.Repository,
	}
	if b.recipe.Target != "" {
		options["target"] = b.recipe.Target
	}
	for name, value := range b.recipe.Args {
		options["build-arg:"+name] = value
	}
	// The frontend it names is locked, and chosen already.
	delete(options, "build-arg:"+syntaxArg)
	if p.cmdline != "" {
		options["cmdline"] = p.cmdline
	}
	for name, image := range contextsOf(p.pins, p.stages) {
		options[contextPrefix+name] = "docker-image://" + image
	}
	return options
}

func sorted(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
