package golang

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/ociimage"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

const (
	// user is nobody in particular, by number so that Kubernetes can see that it
	// is not root.
	user = "65532:65532"
	// searchPath is for programs that start others, on a base that says none.
	searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// base is the reference of the base image, empty if there is none.
func (b *build) base() string {
	if b.recipe.Base == "" || b.recipe.Base == catalogue.Scratch {
		return ""
	}
	if b.onCatalogue() {
		return b.request.Images[b.recipe.Base]
	}
	if !isByDigest(b.recipe.Base) && len(b.request.State.Bases) == 1 {
		return b.request.State.Bases[0]
	}
	return b.recipe.Base
}

// onCatalogue says that the base is an image of the catalogue.
func (b *build) onCatalogue() bool {
	return slices.Contains(b.request.State.Dependencies, b.recipe.Base)
}

func isByDigest(ref string) bool { return strings.Contains(ref, "@sha256:") }

// built is the image of one platform.
type built struct {
	v1.Image
	// toolchain is what the program itself says that it was built by: a Go that
	// was upgraded while this process runs is seen, too.
	toolchain string
}

// image builds the image of one platform. The base comes first, so that one that
// is not there shows before the compiler takes its time.
func (b *build) image(ctx, buildCtx context.Context, m *module, tc *toolchain, assets *layer.Layer, p catalogue.Platform) (built, error) {
	base, err := b.baseImage(ctx, p)
	if err != nil {
		return built{}, err
	}
	program, err := b.compile(buildCtx, m, tc, p)
	if err != nil {
		return built{}, err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return built{}, b.broken(err)
	}
	img, err := b.pack(base, program, m.programName(), assets, p)
	if err != nil {
		return built{}, b.broken(fmt.Errorf("pack %s: %w", m.programName(), err))
	}
	return built{img, info.GoVersion}, nil
}

// pack puts the program and the assets on the base.
func (b *build) pack(base v1.Image, program, name string, assets *layer.Layer, p catalogue.Platform) (v1.Image, error) {
	mediaType, err := base.MediaType()
	if err != nil {
		return nil, err
	}
	layerType := types.OCILayer
	if mediaType == types.DockerManifestSchema2 {
		layerType = types.DockerLayer
	}
	l, err := b.programLayer(program, name, fileName(p), layerType)
	if err != nil {
		return nil, err
	}
	layers := []*layer.Layer{l}
	if assets != nil {
		layers = []*layer.Layer{assets.As(layerType), l}
	}
	return configure(base, layers, name, p)
}

func (b *build) baseImage(ctx context.Context, p catalogue.Platform) (v1.Image, error) {
	ref := b.base()
	if ref == "" {
		return ociimage.Scratch(), nil
	}
	img, err := b.registry.Image(ctx, ref, p.String())
	reason := ""
	switch {
	case errors.Is(err, lifecycle.ErrImageNotFound):
		reason = fmt.Sprintf("its base %s is not in the registry", ref)
	case errors.Is(err, lifecycle.ErrSource):
		reason = fmt.Sprintf("its base %s cannot be used for %s: %v", ref, p, problem.Cause(err))
	default:
		return img, err
	}
	return nil, &lifecycle.BuildError{Image: b.request.State.Image.Name, Reason: reason, Err: err}
}

func configure(base v1.Image, layers []*layer.Layer, name string, p catalogue.Platform) (v1.Image, error) {
	return ociimage.New(base, p, layers, func(config *v1.Config) {
		config.Entrypoint = []string{path.Join(programFolder, name)}
		config.Cmd = nil
		config.User = user
		if len(layers) > 1 {
			// So that a program finds its assets by their paths in the tree.
			config.WorkingDir = programFolder
		}
		if !slices.ContainsFunc(config.Env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
			config.Env = append(config.Env, searchPath)
		}
	})
}

var majorVersion = lazyregexp.New(`^v[2-9]\d*$|^v1\d+$`)

// programName is the last element of the package's path, before a major version.
func (m *module) programName() string {
	dir := path.Join(m.file.Module.Mod.Path, relativeTo(m.dir, m.pkg))
	if name := path.Base(dir); !majorVersion.MatchString(name) || path.Dir(dir) == "." {
		return name
	}
	return path.Base(path.Dir(dir))
}

func relativeTo(dir, p string) string {
	if dir == "." {
		return p
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
}

// index puts the images of all platforms together.
func (b *build) index(images []built, toolchain string) (index v1.ImageIndex, size int64, err error) {
	each := make([]v1.Image, len(images))
	for i, img := range images {
		each[i] = img.Image
	}
	return ociimage.Index(each, b.platforms, map[string]string{keys.Toolchain: toolchain})
}
