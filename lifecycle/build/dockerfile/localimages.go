package dockerfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/moby/buildkit/client"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/ociimage"
)

// localImages are images that BuildKit reads from here.
type localImages struct {
	// contexts are the named contexts that stand for them.
	contexts map[string]string
	stores   map[string]content.Store
}

// storeName is what BuildKit calls the store.
const storeName = "pharos"

// fetch puts the images that a build is on, and that lie in the registry that a
// runner cannot reach, into an OCI layout. It returns nil if there are none.
func (r *Runner) fetch(ctx context.Context, c *client.Client, s Solve, dir string) (*localImages, error) {
	host := hostOf(s.Repository)
	local := &localImages{contexts: map[string]string{}, stores: map[string]content.Store{}}
	var platforms []string
	for name, value := range s.Options {
		image, ok := strings.CutPrefix(value, imageScheme)
		if !ok || !strings.HasPrefix(name, contextPrefix) || hostOf(image) != host {
			continue
		}
		if platforms == nil {
			own, err := r.workers(ctx, c, s.Image)
			if err != nil {
				return nil, err
			}
			platforms = sorted(slices.Concat(s.Platforms, s.BasePlatforms, own))
		}
		digest, err := r.fetchImage(ctx, dir, image, platforms)
		if err != nil {
			return nil, fmt.Errorf("fetch %s for the runner: %w", image, err)
		}
		local.contexts[name] = "oci-layout://" + storeName + "@" + digest
	}
	if len(local.contexts) == 0 {
		return nil, nil
	}
	local.stores[storeName] = blobs{dir: dir}
	return local, nil
}

// workers are the platforms that $BUILDPLATFORM may stand for: the first of each
// worker. The others are emulated.
func (r *Runner) workers(ctx context.Context, c *client.Client, image string) ([]string, error) {
	workers, err := c.ListWorkers(ctx)
	if err != nil {
		return nil, r.unreachable(image, err)
	}
	var platforms []string
	for _, w := range workers {
		if len(w.Platforms) > 0 {
			p := w.Platforms[0]
			platforms = append(platforms, platformName(v1.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant}))
		}
	}
	return platforms, nil
}

// fetchImage writes the images that there are for the platforms into a layout,
// with an index of these alone, whose digest it returns. An image need not be for
// each: BuildKit says if it misses one.
func (r *Runner) fetchImage(ctx context.Context, dir, reference string, platforms []string) (string, error) {
	var images []v1.Image
	var parsed []catalogue.Platform
	var lacking error
	have := map[string]bool{}
	for _, wanted := range platforms {
		for _, name := range append([]string{wanted}, alsoRuns(wanted)...) {
			p, err := catalogue.ParsePlatform(name)
			if err != nil {
				continue
			}
			if have[name] {
				break
			}
			img, err := r.registry.Image(ctx, reference, name)
			if errors.Is(err, lifecycle.ErrSource) {
				lacking = cmp.Or(lacking, err)
				continue
			}
			if err != nil {
				return "", err
			}
			have[name] = true
			images, parsed = append(images, img), append(parsed, p)
			break
		}
	}
	if len(images) == 0 {
		return "", cmp.Or(lacking, fmt.Errorf("none of the platforms %s is known", strings.Join(platforms, ", ")))
	}
	index, _, err := ociimage.Index(images, parsed, nil)
	if err != nil {
		return "", err
	}
	to, err := layout.FromPath(dir)
	if err != nil {
		to, err = layout.Write(dir, empty.Index)
	}
	if err != nil {
		return "", err
	}
	if err := to.AppendIndex(index); err != nil {
		return "", err
	}
	digest, err := index.Digest()
	return digest.String(), err
}
