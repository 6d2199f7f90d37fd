package golang

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/internal/linkerflags"
	"github.com/pharos-dev/pharos/internal/scratch"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/machine"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/ociimage"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// Registry is where images go to and bases come from; *registry.Registry is
// one. It must be safe for concurrent use.
type Registry interface {
	// Push pushes an index, annotated with the fingerprint, by digest.
	Push(ctx context.Context, repository string, index v1.ImageIndex, fp catalogue.Fingerprint) (lifecycle.Digest, error)
	// Image returns one platform's image behind a reference by digest.
	Image(ctx context.Context, reference, platform string) (v1.Image, error)
}

// Config is what a builder works with.
type Config struct {
	// Registry is required.
	Registry Registry
	// Env is the environment of the Go command, as "NAME=value": where it finds
	// modules, its caches, and the user's credentials for them. Programs pass
	// os.Environ(). What would change the image is taken out; see the package's
	// comment. If a name appears twice, the last one counts.
	Env []string
	// Go is the path of the Go command. The default is the "go" on Env's PATH.
	Go string
	// TempDir is where each build has its private folder. The default is Env's
	// TMPDIR (TMP on Windows), else /tmp.
	TempDir string
	// Log receives, at level debug, how long each step took, and at level warn
	// what could not be cleaned up. The default discards it.
	Log *slog.Logger
}

// folderPrefix begins the name of every private folder.
const folderPrefix = "pharos-go-"

// Builder builds Go images. It is safe for concurrent use.
type Builder struct {
	registry   Registry
	env        gocommand.Environment
	goPath     string // Config.Go
	tempDir    string
	folders    scratch.Place
	log        *slog.Logger
	toolchains toolchains
	caches     caches
}

var _ lifecycle.Builder = (*Builder)(nil)

// New returns a Builder. It fails if there is no registry. The Go command is
// looked for when there is something to build: a program that only reads what is
// on a target needs none.
func New(c Config) (*Builder, error) {
	if c.Registry == nil {
		return nil, errors.New("set up the Go builder: no registry is given")
	}
	env := gocommand.NewEnvironment(c.Env)
	if c.TempDir == "" {
		c.TempDir = env.TempDir()
	}
	tempDir, err := filepath.Abs(c.TempDir)
	if err != nil {
		return nil, fmt.Errorf("set up the Go builder: %w", err)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Builder{
		registry: c.Registry, env: env, goPath: c.Go, tempDir: tempDir, log: c.Log,
		folders:    scratch.Place{Dir: tempDir, Prefix: folderPrefix, Log: c.Log},
		toolchains: toolchains{known: map[string]*toolchain{}}, caches: caches{kinds: map[string]*kind{}},
	}, nil
}

// build is one image being built.
type build struct {
	*Builder
	goCommand string
	request   lifecycle.BuildRequest
	recipe    *catalogue.GoBuild
	platforms []catalogue.Platform
	// recipes are the recipe with its templates replaced, by platform.
	recipes map[catalogue.Platform]*catalogue.GoBuild
	// early says that images it is built on may not be there yet.
	early  bool
	folder *scratch.Folder
	output *output
}

// Build implements [lifecycle.Builder]. Errors that the image's inputs cause
// are *[lifecycle.BuildError]; those of the registry are *[lifecycle.Error];
// if ctx ends, the error matches its cause.
func (b *Builder) Build(ctx context.Context, r lifecycle.BuildRequest) (res lifecycle.BuildResult, err error) {
	err = b.inFolder(ctx, r, false, func(run *build) error {
		res, err = run.run(ctx)
		return err
	})
	return res, err
}

// inFolder calls f with the build of a request that has a private folder. early
// says that images it is built on may not be there yet.
func (b *Builder) inFolder(ctx context.Context, r lifecycle.BuildRequest, early bool, f func(*build) error) (err error) {
	name := r.State.Image.Name
	if r.State.Image.Build.Go == nil {
		return &lifecycle.BuildError{Image: name, Reason: "its recipe is not one for Go"}
	}
	if r.Output == nil {
		r.Output = io.Discard
	}
	if r.Full.Objects == nil {
		r.Full = r.State.Inputs
	}
	run := &build{Builder: b, request: r, recipe: r.State.Image.Build.Go, early: early, output: newOutput(r.Output)}
	if err := run.checkRecipe(); err != nil {
		return err
	}
	if run.goCommand, err = b.findGo(); err != nil {
		return &lifecycle.Error{Op: "build image", On: name, Err: err}
	}
	if run.folder, err = b.folders.Make("src", "tmp", "out"); err != nil {
		return run.broken(err)
	}
	defer func() {
		if err := run.folder.Remove(); err != nil {
			b.log.WarnContext(ctx, "a build's private folder is left; the next build removes it", "image", name, "error", err)
		}
	}()
	err = f(run)
	if err != nil && ctx.Err() != nil {
		return &lifecycle.Error{Op: "build image", On: name, Err: context.Cause(ctx)}
	}
	return err
}

// findGo returns the path of the Go command.
func (b *Builder) findGo() (string, error) {
	if b.goPath != "" {
		return b.goPath, nil
	}
	return b.env.Find()
}

func (b *build) run(ctx context.Context) (lifecycle.BuildResult, error) {
	start := time.Now()
	if err := b.export(ctx); err != nil {
		return lifecycle.BuildResult{}, err
	}
	b.step(ctx, "exported the pruned tree", &start)
	m, err := b.analyse(ctx)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	tc, err := b.toolchain(ctx, m)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	b.step(ctx, "read the module", &start)
	images, err := b.images(ctx, m, tc)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	b.step(ctx, "built all platforms", &start)
	toolchain := images[0].toolchain
	index, size, err := b.index(images, toolchain)
	if err != nil {
		return lifecycle.BuildResult{}, b.broken(err)
	}
	digest, err := b.registry.Push(ctx, b.request.Repository, index, b.request.State.Fingerprint)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	b.step(ctx, "pushed", &start)
	res := lifecycle.BuildResult{Digest: digest, Toolchain: toolchain, Size: size}
	for _, p := range b.platforms {
		res.Platforms = append(res.Platforms, p.String())
	}
	if base := b.base(); base != "" && !b.onCatalogue() {
		res.Bases = []string{base}
	}
	return res, nil
}

// images builds every platform, as many at once as there are processors. The
// first failure ends the others.
func (b *build) images(ctx context.Context, m *module, tc *toolchain) ([]built, error) {
	assets, err := b.assetsLayer()
	if err != nil {
		return nil, b.broken(fmt.Errorf("pack the assets: %w", err))
	}
	images := make([]built, len(b.platforms))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range b.platforms {
		g.Go(func() (err error) {
			// Layers of the base are read after this function has returned, so
			// they go by the caller's context.
			images[i], err = b.image(ctx, gctx, m, tc, assets, p)
			return err
		})
	}
	return images, g.Wait()
}

func (b *build) step(ctx context.Context, what string, since *time.Time) {
	now := time.Now()
	b.log.DebugContext(ctx, what, "image", b.request.State.Image.Name, "took", now.Sub(*since))
	*since = now
}

// checkRecipe reports what the recipe itself asks for wrongly, all at once.
func (b *build) checkRecipe() error {
	p := problem.List{Image: b.request.State.Image.Name}
	b.platforms = ociimage.Platforms(b.request.State.Image, "Go images", &p)
	for _, name := range slices.Sorted(maps.Keys(b.recipe.Env)) {
		if err := catalogue.CheckGoEnv(name, b.recipe.Env[name]); err != nil {
			p.Add("build.go.env.%s %v", name, err)
		}
	}
	if err := linkerflags.All(b.recipe.LDFlags); err != nil {
		p.Add("build.go.ldflags: %v", err)
	}
	if _, err := joinQuoted(b.recipe.LDFlags); err != nil {
		p.Add("build.go.ldflags: %v", err)
	}
	b.expandRecipe(&p)
	switch base := b.base(); {
	case b.onCatalogue() && base == "" && b.early:
	case b.onCatalogue() && !isByDigest(base):
		p.Add("build.go.base: the image %s of the catalogue was not built before it", b.recipe.Base)
	case base != "" && !isByDigest(base):
		p.Add("build.go.base: %s is not named by digest, so it could be another image tomorrow; write it as name@sha256:…", base)
	}
	return p.Err()
}

// expandRecipe replaces the recipe's templates for each platform.
func (b *build) expandRecipe(p *problem.List) {
	b.recipes = map[catalogue.Platform]*catalogue.GoBuild{}
	for _, platform := range b.platforms {
		recipe, err := b.recipe.Expand(catalogue.GoValues{
			Fingerprint: b.request.State.Fingerprint, Tree: b.request.State.Inputs.ID, Platform: platform,
		})
		if err != nil {
			p.Add("%v", err)
			return
		}
		b.recipes[platform] = &recipe
	}
}

// broken is a failure that the inputs did not cause.
func (b *build) broken(err error) error {
	return &lifecycle.Error{
		Op: "build image", On: b.request.State.Image.Name, Err: err, Advice: machine.Advice(err, b.tempDir, "TMPDIR"),
	}
}
