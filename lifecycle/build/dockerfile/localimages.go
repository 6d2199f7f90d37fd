package dockerfile

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/pharos-dev/pharos/catalogue"
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
func (r *Runner) fetch(ctx context.Context, s Solve, dir string) (*localImages, error) {
	host := hostOf(s.Repository)
	local := &localImages{contexts: map[string]string{}, stores: map[string]content.Store{}}
	for name, value := range s.Options {
		image, ok := strings.CutPrefix(value, imageScheme)
		if !ok || !strings.HasPrefix(name, contextPrefix) || hostOf(image) != host {
			continue
		}
		digest, err := r.fetchImage(ctx, dir, image, s.Platforms)
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

// fetchImage writes the images of the platforms into a layout, with an index of
// these alone, whose digest it returns.
func (r *Runner) fetchImage(ctx context.Context, dir, reference string, platforms []string) (string, error) {
	var images []v1.Image
	var parsed []catalogue.Platform
	for _, name := range platforms {
		p, err := catalogue.ParsePlatform(name)
		if err != nil {
			return "", err
		}
		img, err := r.registry.Image(ctx, reference, name)
		if err != nil {
			return "", err
		}
		images, parsed = append(images, img), append(parsed, p)
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
