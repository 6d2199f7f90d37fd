package dockerfile

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"

	recipe "github.com/pharos-dev/pharos/catalogue/dockerfile"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

const (
	// syntaxArg is the build argument that names a frontend.
	syntaxArg = "BUILDKIT_SYNTAX"
	// formArg is the build argument that decides whether the result is an index.
	formArg = "BUILDKIT_MULTI_PLATFORM"
	// cacheArg is the build argument that names what shares cache mounts.
	cacheArg = "BUILDKIT_CACHE_MOUNT_NS"
)

// plan is what the Dockerfile says, as far as it can be known without building.
type plan struct {
	// frontend is the locked image that reads the Dockerfile, and cmdline the
	// whole of the line that asks for it; empty if there is none.
	frontend, cmdline string
	pins              []Pin
	// stages are the names of the stages, in lower case.
	stages []string
	// epoch is what times are set to, in seconds since 1970.
	epoch int64
	// plans are one for each platform.
	plans []*recipe.Plan
}

func dockerfilePath(b *catalogue.DockerfileBuild) string {
	return path.Clean(cmp.Or(b.Path, "Dockerfile"))
}

// plan reads the Dockerfile and refuses what cannot be built as it is meant, all
// of it at once.
func (b *build) plan(ctx context.Context) (*plan, error) {
	found := newProblems(b.request.State.Image.Name)
	if len(b.request.State.Image.Platforms) == 0 {
		found.say("it names no platform")
	}
	if _, ok := b.recipe.Args[formArg]; ok {
		found.say("build.dockerfile.args: %s would change the form of the image, which is always an index: remove it", formArg)
	}
	epoch := b.epoch(found)
	content, err := b.request.State.Inputs.ReadFile(ctx, b.file)
	if err != nil {
		return nil, &lifecycle.BuildError{Image: found.Image, Reason: "its Dockerfile cannot be read: " + err.Error(), Err: err}
	}
	file, err := recipe.Parse(b.file, content)
	if err != nil {
		return nil, &lifecycle.BuildError{Image: found.Image, Reason: err.Error(), Err: err}
	}
	p := &plan{stages: file.Stages(), epoch: epoch}
	for _, platform := range b.platforms() {
		of, err := file.Plan(recipe.Options{Target: b.recipe.Target, Args: b.recipe.Args, Platform: platform})
		if err != nil {
			found.say("%v", err)
			continue
		}
		p.plans = append(p.plans, of)
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	b.pin(p, found)
	b.useFrontend(p, content, found)
	b.checkBases(ctx, p, found)
	b.checkMounts(p, found)
	b.checkRemotes(p, found)
	if err := b.checkReads(ctx, p, found); err != nil {
		return nil, err
	}
	return p, found.Err()
}

// useFrontend notes the locked frontend that the Dockerfile, or an argument,
// asks for.
func (b *build) useFrontend(p *plan, content []byte, found *problems) {
	written := p.plans[0].Frontend
	if written == "" {
		return
	}
	_, p.cmdline, _, _ = parser.DetectSyntax(content)
	if arg, ok := b.recipe.Args[syntaxArg]; ok {
		p.cmdline = strings.TrimSpace(arg)
	}
	p.frontend = b.request.State.Frontend
	if slices.Contains(b.request.State.Dependencies, written) {
		p.frontend = b.request.Images[written]
		if b.early && p.frontend == "" {
			return
		}
	}
	if !byDigest(p.frontend) {
		found.say("%s: its frontend %s is not known by digest", b.file, written)
	}
}

// checkMounts compares the secrets and SSH agents that RUN mounts with those
// that the recipe declares. BuildKit goes on without a secret, and so would
// build something else.
func (b *build) checkMounts(p *plan, found *problems) {
	for _, kind := range []struct {
		what, field string
		declared    []string
		mounts      func(*recipe.Plan) []recipe.Mount
	}{
		{"secret", "secrets", b.recipe.Secrets, func(p *recipe.Plan) []recipe.Mount { return p.Secrets }},
		{"SSH agent", "ssh", b.recipe.SSH, func(p *recipe.Plan) []recipe.Mount { return p.SSH }},
	} {
		for _, of := range p.plans {
			for _, m := range kind.mounts(of) {
				if !slices.Contains(kind.declared, m.ID) {
					found.say("%s:%d: RUN mounts the %s %s, which the recipe does not declare: add it to build.dockerfile.%s", b.file, m.Line, kind.what, m.ID, kind.field)
				}
			}
		}
	}
}

// checkRemotes refuses what ADD fetches from elsewhere and nothing pins: the image
// would change with it, under the same fingerprint.
func (b *build) checkRemotes(p *plan, found *problems) {
	for _, of := range p.plans {
		for _, s := range of.Remote {
			found.say("%s:%d: ADD %s: %s: add --checksum=sha256:…, or the commit's ID for a Git repository", b.file, s.Line, s.Path, s.Reason)
		}
	}
}

// problems are what is wrong with an image's inputs, each once: platforms often
// share one.
type problems struct {
	problem.List
	said map[string]bool
}

func newProblems(image string) *problems {
	return &problems{List: problem.List{Image: image}, said: map[string]bool{}}
}

func (p *problems) say(format string, args ...any) {
	if reason := fmt.Sprintf(format, args...); !p.said[reason] {
		p.said[reason] = true
		p.Add("%s", reason)
	}
}
