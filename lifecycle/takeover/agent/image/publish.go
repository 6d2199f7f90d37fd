package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// Registry is where images are; *registry.Registry is one. It must be safe for
// concurrent use.
type Registry interface {
	// Find looks for an index of that fingerprint, and verifies it. The error matches
	// lifecycle.ErrImageNotFound if there is none.
	Find(ctx context.Context, repository string, fp catalogue.Fingerprint) (lifecycle.RegistryImage, error)
	// Push pushes an index, annotated with the fingerprint, by digest, and sends only
	// what the repository does not have.
	Push(ctx context.Context, repository string, index v1.ImageIndex, fp catalogue.Fingerprint) (lifecycle.Digest, error)
	// Image returns one platform's image behind a reference by digest.
	Image(ctx context.Context, reference, platform string) (v1.Image, error)
	// Stored is what tags lead to. The error matches lifecycle.ErrImageNotFound if
	// there is nothing of that digest.
	Stored(ctx context.Context, repository string, digest lifecycle.Digest) (lifecycle.StoredImage, error)
	// Delete deletes it with its tags.
	Delete(ctx context.Context, repository string, image lifecycle.StoredImage) error
}

// Config is what a Publisher works with.
type Config struct {
	// Builder builds Go images into Registry: a *golang.Builder. It is required.
	Builder lifecycle.Builder
	// Registry is required.
	Registry Registry
	// Push and Pull are the target's registry, as it is pushed to from here and as
	// the nodes pull from it: "localhost:5000/dev". Push is required; the default of
	// Pull is Push.
	Push, Pull string
	// Output receives what the Go command prints. The default discards it.
	Output io.Writer
}

// Publisher publishes agents. It is safe for concurrent use.
type Publisher struct{ c Config }

// New returns a Publisher. It fails if something required is missing.
func New(c Config) (*Publisher, error) {
	if c.Builder == nil || c.Registry == nil || c.Push == "" {
		return nil, errors.New("set up the agent's publisher: a builder, a registry and where to push are required")
	}
	if c.Pull == "" {
		c.Pull = c.Push
	}
	if c.Output == nil {
		c.Output = io.Discard
	}
	return &Publisher{c}, nil
}

// Repository is where agents are pushed to.
func (p *Publisher) Repository() string { return p.c.Push + "/" + Name }

// Publish publishes the agent of a session for the platforms, such as
// "linux/amd64", which nodes of the workload have. user is that of the original
// image's config, empty if it has none. It returns the agent's reference by digest
// as the nodes pull it, and the digest. The same arguments give the same digest.
//
// The error matches wire.ErrSession for a session that is not valid. Where the
// program has to be built it is the builder's, else the registry's.
func (p *Publisher) Publish(ctx context.Context, s wire.Session, platforms []string, user string) (ref string, digest lifecycle.Digest, err error) {
	doc, err := s.Encode()
	if err != nil {
		return "", "", err
	}
	if user, err = numbered(user); err != nil {
		return "", "", fmt.Errorf("publish the agent of %s: %w", s.Workload, err)
	}
	wanted, err := parse(platforms)
	if err != nil {
		return "", "", fmt.Errorf("publish the agent of %s: %w", s.Workload, err)
	}
	fp, base, err := p.program(ctx, wanted)
	if err != nil {
		return "", "", fmt.Errorf("publish the agent of %s: %w", s.Workload, err)
	}
	own, err := fileLayer(wire.SessionPath, 0o444, doc)
	if err != nil {
		return "", "", fmt.Errorf("publish the agent of %s: pack the session: %w", s.Workload, err)
	}
	var images []v1.Image
	for i, platform := range wanted {
		img, err := with(base[i], platform, own, func(c *v1.Config) {
			c.Entrypoint = []string{wire.BinaryPath}
			c.Cmd = []string{wire.CommandRun}
			c.User = user
		})
		if err != nil {
			return "", "", fmt.Errorf("publish the agent of %s for %s: %w", s.Workload, platform, err)
		}
		images = append(images, img)
	}
	digest, err = p.c.Registry.Push(ctx, p.Repository(), index(images, wanted), derived("session", string(fp), user, string(doc)))
	if err != nil {
		return "", "", fmt.Errorf("publish the agent of %s: %w", s.Workload, err)
	}
	return p.c.Pull + "/" + Name + "@" + string(digest), digest, nil
}

// Remove removes an agent that Publish returned, once its session has ended and no
// pod runs it any more. It leaves the program's layer for the next one. Nothing is
// there to remove the second time, which is no error.
func (p *Publisher) Remove(ctx context.Context, digest lifecycle.Digest) error {
	stored, err := p.c.Registry.Stored(ctx, p.Repository(), digest)
	if err == nil {
		err = p.c.Registry.Delete(ctx, p.Repository(), stored)
	}
	if err != nil && !errors.Is(err, lifecycle.ErrImageNotFound) {
		return fmt.Errorf("remove the agent %s: %w", digest, err)
	}
	return nil
}

// program returns the images with the agent's program alone, one for each platform,
// and their fingerprint. It builds them if the registry does not have them.
func (p *Publisher) program(ctx context.Context, platforms []catalogue.Platform) (catalogue.Fingerprint, []v1.Image, error) {
	st, full, err := state(ctx, names(platforms))
	if err != nil {
		return "", nil, err
	}
	fp := derived("program", string(st.Fingerprint))
	found, err := p.c.Registry.Find(ctx, p.Repository(), fp)
	switch {
	case err == nil:
		images, err := p.images(ctx, found.Digest, platforms)
		return fp, images, err
	case !errors.Is(err, lifecycle.ErrImageNotFound):
		return "", nil, err
	}
	built, err := p.c.Builder.Build(ctx, lifecycle.BuildRequest{
		State: st, Full: full, Repository: p.Repository(), Output: p.c.Output,
	})
	if err != nil {
		return "", nil, err
	}
	from, err := p.images(ctx, built.Digest, platforms)
	if err != nil {
		return "", nil, err
	}
	var images []v1.Image
	for i, platform := range platforms {
		img, err := moved(from[i], platform)
		if err != nil {
			return "", nil, fmt.Errorf("take the agent's program for %s out of its image: %w", platform, err)
		}
		images = append(images, img)
	}
	_, err = p.c.Registry.Push(ctx, p.Repository(), index(images, platforms), fp)
	return fp, images, err
}

func (p *Publisher) images(ctx context.Context, digest lifecycle.Digest, platforms []catalogue.Platform) ([]v1.Image, error) {
	var images []v1.Image
	for _, platform := range platforms {
		img, err := p.c.Registry.Image(ctx, p.Repository()+"@"+string(digest), platform.String())
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	return images, nil
}

// moved is the image that a builder made, with its program where an agent has it:
// in the root folder, over which nothing is mounted.
func moved(built v1.Image, platform catalogue.Platform) (v1.Image, error) {
	config, err := built.ConfigFile()
	if err != nil {
		return nil, err
	}
	if len(config.Config.Entrypoint) == 0 {
		return nil, errors.New("it has no entrypoint")
	}
	content, err := find(built, config.Config.Entrypoint[0])
	if err != nil {
		return nil, err
	}
	l, err := fileLayer(wire.BinaryPath, 0o555, content)
	if err != nil {
		return nil, err
	}
	return with(scratch(), platform, l, func(c *v1.Config) { c.Entrypoint = []string{wire.BinaryPath} })
}

// derived is the fingerprint of something that is made from parts.
func derived(kind string, parts ...string) catalogue.Fingerprint {
	h := sha256.New()
	for _, part := range append([]string{"pharos-agent/v1", kind}, parts...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return catalogue.Fingerprint(fmt.Sprintf("sha256:%x", h.Sum(nil)))
}

// parse returns the platforms, sorted and once each.
func parse(platforms []string) ([]catalogue.Platform, error) {
	if len(platforms) == 0 {
		return nil, errors.New("no platform is given")
	}
	var all []catalogue.Platform
	for _, s := range platforms {
		parsed, err := catalogue.ParsePlatform(s)
		if err != nil {
			return nil, fmt.Errorf("platform %w", err)
		}
		all = append(all, parsed)
	}
	slices.SortFunc(all, func(a, b catalogue.Platform) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all), nil
}

func names(platforms []catalogue.Platform) []string {
	var all []string
	for _, p := range platforms {
		all = append(all, p.String())
	}
	return all
}
