package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/filesrecipe"
	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/internal/scratch"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/machine"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/ociimage"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// Registry is where images go to; *registry.Registry is one. It must be safe for
// concurrent use.
type Registry interface {
	// Push pushes an index, annotated with the fingerprint, by digest.
	Push(ctx context.Context, repository string, index v1.ImageIndex, fp catalogue.Fingerprint) (lifecycle.Digest, error)
}

// Config is what a builder works with.
type Config struct {
	// Registry is required.
	Registry Registry
	// Env is the environment, as "NAME=value", of which only the default of
	// TempDir is taken. Programs pass os.Environ().
	Env []string
	// TempDir is where each build has its private folder, for as many bytes as
	// its layer has. The default is Env's TMPDIR (TMP on Windows), else /tmp.
	TempDir string
	// Log receives, at level debug, how long each step took, and at level warn
	// what could not be cleaned up. The default discards it.
	Log *slog.Logger
}

// Builder builds images of files. It is safe for concurrent use.
type Builder struct {
	registry Registry
	folders  scratch.Place
	log      *slog.Logger
}

var _ lifecycle.Builder = (*Builder)(nil)

// New returns a Builder. It fails if there is no registry.
func New(c Config) (*Builder, error) {
	if c.Registry == nil {
		return nil, errors.New("set up the builder of files: no registry is given")
	}
	if c.TempDir == "" {
		c.TempDir = gocommand.NewEnvironment(c.Env).TempDir()
	}
	tempDir, err := filepath.Abs(c.TempDir)
	if err != nil {
		return nil, fmt.Errorf("set up the builder of files: %w", err)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Builder{
		registry: c.Registry, log: c.Log,
		folders: scratch.Place{Dir: tempDir, Prefix: "pharos-files-", Log: c.Log},
	}, nil
}

// build is one image being built.
type build struct {
	*Builder
	request   lifecycle.BuildRequest
	recipe    *catalogue.FilesBuild
	platforms []catalogue.Platform
	form      filesrecipe.Form
}

// Build implements [lifecycle.Builder]. Errors that the image's inputs or its
// recipe cause are *[lifecycle.BuildError]; those of the registry are
// *[lifecycle.Error]; if ctx ends, the error matches its cause.
func (b *Builder) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	run, err := b.start(r)
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	res, err := run.run(ctx)
	if err != nil {
		return lifecycle.BuildResult{}, run.orStopped(ctx, err)
	}
	return res, nil
}

// start is the build of a request.
func (b *Builder) start(r lifecycle.BuildRequest) (*build, error) {
	recipe := r.State.Image.Build.Files
	if recipe == nil {
		return nil, &lifecycle.BuildError{Image: r.State.Image.Name, Reason: "its recipe is not one for files"}
	}
	if r.Full.Objects == nil {
		r.Full = r.State.Inputs
	}
	return &build{Builder: b, request: r, recipe: recipe}, nil
}

// orStopped is the error, or why ctx has ended.
func (b *build) orStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &lifecycle.Error{Op: "build image", On: b.request.State.Image.Name, Err: context.Cause(ctx)}
	}
	return err
}

func (b *build) run(ctx context.Context) (res lifecycle.BuildResult, err error) {
	if err := b.checkRecipe(); err != nil {
		return res, err
	}
	what, err := b.find(ctx)
	if err != nil {
		return res, err
	}
	folder, err := b.folders.Make()
	if err != nil {
		return res, b.broken(err)
	}
	defer func() {
		if err := folder.Remove(); err != nil {
			b.log.WarnContext(ctx, "a build's private folder is left; the next build removes it", "image", b.request.State.Image.Name, "error", err)
		}
	}()
	start := time.Now()
	l, err := b.layer(ctx, what, folder.Path("layer"))
	if err != nil {
		return res, b.failed(err)
	}
	b.step(ctx, "packed the files", &start)
	index, size, err := b.index(l, what)
	if err != nil {
		return res, b.broken(err)
	}
	digest, err := b.registry.Push(ctx, b.request.Repository, index, b.request.State.Fingerprint)
	if err != nil {
		return res, err
	}
	b.step(ctx, "pushed", &start)
	res = lifecycle.BuildResult{Digest: digest, Size: size}
	for _, p := range b.platforms {
		res.Platforms = append(res.Platforms, p.String())
	}
	return res, nil
}

// checkRecipe reports what the recipe itself asks for wrongly, all at once.
func (b *build) checkRecipe() error {
	p := problem.List{Image: b.request.State.Image.Name}
	b.platforms = ociimage.Platforms(b.request.State.Image, "images of files", &p)
	var problems []string
	b.form, problems = filesrecipe.Check(*b.recipe)
	for _, problem := range problems {
		p.Add("%s", problem)
	}
	return p.Err()
}

// find finds the recipe's folder, or its file, among the inputs.
func (b *build) find(ctx context.Context) (*filesrecipe.Content, error) {
	p := problem.List{Image: b.request.State.Image.Name}
	found, err := filesrecipe.Find(ctx, b.request.State.Inputs, *b.recipe, b.form)
	refused, isRefused := errors.AsType[*filesrecipe.RefusedError](err)
	switch {
	case errors.Is(err, filesrecipe.ErrMissing):
		if err := b.missing(ctx, &p); err != nil {
			return nil, b.failed(err)
		}
	case isRefused:
		for _, reason := range refused.Reasons {
			p.Add("%s", reason)
		}
	case err != nil:
		return nil, b.failed(err)
	}
	return found, p.Err()
}

// missing says how what is not among the inputs becomes one of them.
func (b *build) missing(ctx context.Context, p *problem.List) error {
	from := path.Clean("./" + b.recipe.From)
	_, err := b.request.Full.Lookup(ctx, from)
	switch {
	case errors.Is(err, source.ErrNotFound):
		p.Add("build.files.from: the tree has no %s", from)
	case err != nil:
		return err
	default:
		p.Miss(from, problem.Literal(from))
	}
	return nil
}

// index is the image or the artifact, for each platform.
func (b *build) index(l *layer.Layer, what *filesrecipe.Content) (v1.ImageIndex, int64, error) {
	images := make([]v1.Image, len(b.platforms))
	for i, p := range b.platforms {
		var err error
		if b.form.Artifact {
			images[i], err = newArtifact(l, what.Title)
		} else {
			images[i], err = ociimage.New(ociimage.Scratch(), p, []*layer.Layer{l}, nil)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return ociimage.Index(images, b.platforms, nil)
}

func (b *build) step(ctx context.Context, what string, since *time.Time) {
	now := time.Now()
	b.log.DebugContext(ctx, what, "image", b.request.State.Image.Name, "took", now.Sub(*since))
	*since = now
}

// broken is a failure that the inputs did not cause.
func (b *build) broken(err error) error {
	return &lifecycle.Error{
		Op: "build image", On: b.request.State.Image.Name, Err: err, Advice: machine.Advice(err, b.folders.Dir, "TMPDIR"),
	}
}

// failed is a failure of reading the inputs or of writing them elsewhere.
func (b *build) failed(err error) error {
	if machine.IsFault(err) || machine.IsGone(err, b.folders.Dir) {
		return b.broken(fmt.Errorf("pack its files: %w", err))
	}
	return &lifecycle.BuildError{Image: b.request.State.Image.Name, Reason: "its files cannot be packed: " + err.Error(), Err: err}
}
