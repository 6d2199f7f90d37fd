package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/moby/buildkit/client"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/scratch"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/machine"
)

// Publisher is the registry that a runner's images go to; *registry.Registry is
// one. It must be safe for concurrent use.
type Publisher interface {
	// Push sends what the repository does not have of an index, annotated with
	// the fingerprint.
	Push(ctx context.Context, repository string, index v1.ImageIndex, fp catalogue.Fingerprint) (lifecycle.Digest, error)
	// Image returns one platform's image behind a reference by digest.
	Image(ctx context.Context, reference, platform string) (v1.Image, error)
}

// RunnerConfig says where a BuildKit is that cannot reach the registry.
type RunnerConfig struct {
	// AddressConfig says where BuildKit is. Insecure and InsecureHosts do not
	// count: BuildKit does not push.
	AddressConfig
	// Registry is where images are published, from here. It is required.
	Registry Publisher
	// TempDir is where each build has its private folder, which holds the image
	// for a while. The default is os.TempDir().
	TempDir string
}

// Runner is the Backend that has a BuildKit build and publishes the image from
// here. It is safe for concurrent use.
type Runner struct {
	daemon
	registry Publisher
	folders  scratch.Place
}

var _ Backend = (*Runner)(nil)

// folderPrefix begins the name of every private folder.
const folderPrefix = "pharos-runner-"

// NewRunner returns the backend of a runner. It fails if the address is not one,
// or if there is no registry. Nothing is connected yet.
func NewRunner(c RunnerConfig) (*Runner, error) {
	if c.Registry == nil {
		return nil, errors.New("set up a runner: no registry is given")
	}
	d, err := newDaemon(c.AddressConfig)
	if err != nil {
		return nil, err
	}
	if c.TempDir == "" {
		c.TempDir = os.TempDir()
	}
	dir, err := filepath.Abs(c.TempDir)
	if err != nil {
		return nil, fmt.Errorf("set up a runner: %w", err)
	}
	return &Runner{daemon: d, registry: c.Registry, folders: scratch.Place{Dir: dir, Prefix: folderPrefix, Log: d.log}}, nil
}

// Solve implements Backend. The image comes here as an OCI layout, is checked
// byte by byte, and published. Images that it is built on and that lie in the
// registry it goes to are fetched here and handed to BuildKit; others BuildKit
// pulls by itself.
func (r *Runner) Solve(ctx context.Context, s Solve) (solved Solved, err error) {
	given, err := r.supplies(ctx, s)
	if err != nil {
		return Solved{}, err
	}
	folder, err := r.folders.Make("image", "images")
	if err != nil {
		return Solved{}, r.broken(s, err)
	}
	defer func() {
		if err := folder.Remove(); err != nil {
			r.log.WarnContext(ctx, "a build's private folder is left; the next build removes it", "image", s.Image, "error", err)
		}
	}()
	c, version, err := r.connect(ctx, s.Image)
	if err != nil {
		return Solved{}, err
	}
	defer r.close(ctx, c)
	images, err := r.fetch(ctx, c, s, folder.Path("images"))
	if err != nil {
		return Solved{}, r.broken(s, err)
	}
	var sent atomic.Pointer[unpacking]
	output := func(map[string]string) (io.WriteCloser, error) {
		sent.Store(newUnpacking(folder.Path("image")))
		return sent.Load(), nil
	}
	digest, err := r.solve(ctx, c, s, given, request{
		export: client.ExportEntry{Type: client.ExporterOCI, Attrs: s.exporter(version), Output: output}, images: images,
	})
	if err != nil {
		// BuildKit is told the text alone of what went wrong here, and says it again as
		// if it were its own.
		if u := sent.Load(); u != nil && r.advice(u.failed()) != "" {
			err = u.failed()
		}
		return Solved{}, r.broken(s, err)
	}
	index, size, err := openLayout(folder.Path("image"), digest, s.Platforms)
	if err != nil {
		return Solved{}, r.broken(s, fmt.Errorf("check the image that BuildKit sent: %w", err))
	}
	published, err := r.registry.Push(ctx, s.Repository, index, s.Fingerprint)
	return Solved{Digest: published, Version: version, Size: size}, err
}

// broken gives a fault of this machine its form, and leaves other errors as they
// are.
func (r *Runner) broken(s Solve, err error) error {
	if advice := r.advice(err); advice != "" {
		return &lifecycle.Error{Op: "build image", On: s.Image, Err: err, Advice: advice}
	}
	return err
}

// advice is empty if this machine is not to blame.
func (r *Runner) advice(err error) string { return machine.Advice(err, r.folders.Dir, "TMPDIR") }

// openLayout opens the index of a digest in an OCI layout, and checks all of it:
// digests, sizes, and that it is for the platforms. size is that of its layers.
func openLayout(dir string, digest lifecycle.Digest, platforms []string) (index v1.ImageIndex, size int64, err error) {
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, 0, err
	}
	hash, err := v1.NewHash(string(digest))
	if err != nil {
		return nil, 0, err
	}
	check := &layoutCheck{dir: dir, layers: map[v1.Hash]int64{}}
	if err := check.index(hash); err != nil {
		return nil, 0, err
	}
	slices.Sort(check.platforms)
	if have := slices.Compact(check.platforms); !slices.Equal(have, platforms) {
		return nil, 0, fmt.Errorf("it is for %s, not for %s", strings.Join(have, ", "), strings.Join(platforms, ", "))
	}
	for _, layer := range check.layers {
		size += layer
	}
	index, err = top.ImageIndex(hash)
	return index, size, err
}
