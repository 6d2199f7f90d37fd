package dockerfile_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// project is a tree with one image, web, of a Dockerfile.
type project struct {
	// recipe is what stands in build.dockerfile, inputs what stands in inputs; the
	// defaults are {} and everything.
	recipe, inputs, platforms string
	// more are other images of the catalogue.
	more  string
	files map[string]string
	modes map[string]source.Mode
	lock  map[string]string
}

func (p project) with(changes map[string]string) project {
	p.files = maps.Clone(p.files)
	maps.Copy(p.files, changes)
	return p
}

func (p project) tree() (source.Tree, error) {
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	files := map[string]source.File{
		"pharos.yaml": {Content: fmt.Sprintf("apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: web\n  build: {dockerfile: %s}\n  inputs: %s\n  platforms: %s\n%s",
			or(p.recipe, "{}"), or(p.inputs, `["**", "!pharos.*"]`), or(p.platforms, "[linux/amd64]"), p.more)},
	}
	if len(p.lock) > 0 {
		text := "apiVersion: pharos.dev/v1alpha1\nkind: Lock\nimages:\n"
		for ref, digest := range p.lock {
			text += fmt.Sprintf("  %q: %q\n", ref, digest)
		}
		files["pharos.lock"] = source.File{Content: text}
	}
	for name, content := range p.files {
		files[name] = source.File{Content: content, Mode: p.modes[name]}
	}
	return source.FromFiles(files)
}

// fixture is a registry, a BuildKit, and a builder that uses them.
type fixture struct {
	*dockerfile.Builder
	t        *testing.T
	host     string
	address  string
	registry *registry.Registry
	keychain authn.Keychain // of the registry; may be nil
}

func newFixture(t *testing.T, change ...func(*dockerfile.AddressConfig)) *fixture {
	t.Helper()
	return fixtureOn(t, devtest.BuildKit(t), change...)
}

func fixtureOn(t *testing.T, b *devenv.BuildKit, change ...func(*dockerfile.AddressConfig)) *fixture {
	t.Helper()
	f := &fixture{t: t, host: devtest.Registry(t), address: b.Address()}
	f.connect(change...)
	return f
}

// connect makes the builder.
func (f *fixture) connect(change ...func(*dockerfile.AddressConfig)) {
	f.t.Helper()
	config := dockerfile.AddressConfig{Address: f.address, InsecureHosts: []string{f.host}}
	for _, c := range change {
		c(&config)
	}
	backend, err := dockerfile.NewAddress(config)
	if err != nil {
		f.t.Fatal(err)
	}
	f.use(backend)
}

func (f *fixture) use(b dockerfile.Backend) {
	f.t.Helper()
	var err error
	if f.registry, err = registry.New(registry.Config{InsecureHosts: []string{f.host}, Keychain: f.keychain}); err != nil {
		f.t.Fatal(err)
	}
	if f.Builder, err = dockerfile.New(dockerfile.Config{Backend: b, Registry: f.registry}); err != nil {
		f.t.Fatal(err)
	}
}

// request asks for the project's image web.
func (f *fixture) request(p project) lifecycle.BuildRequest {
	f.t.Helper()
	tree, err := p.tree()
	if err != nil {
		f.t.Fatal(err)
	}
	c, err := catalogue.Load(f.t.Context(), tree)
	if err != nil {
		f.t.Fatal(err)
	}
	states, err := c.States(f.t.Context(), tree)
	if err != nil {
		f.t.Fatal(err)
	}
	return lifecycle.BuildRequest{State: states[0], Full: tree, Repository: f.host + "/dev/web"}
}

func (f *fixture) build(r lifecycle.BuildRequest) lifecycle.BuildResult {
	f.t.Helper()
	var out bytes.Buffer
	if r.Output == nil {
		r.Output = &out
	}
	res, err := f.Build(f.t.Context(), r)
	if err != nil {
		f.t.Fatalf("%v\n%s", err, out.String())
	}
	return res
}

// fail builds what cannot be built because of its inputs.
func (f *fixture) fail(r lifecycle.BuildRequest) *lifecycle.BuildError {
	f.t.Helper()
	_, err := f.Build(f.t.Context(), r)
	failed, ok := errors.AsType[*lifecycle.BuildError](err)
	if !ok {
		f.t.Fatalf("got %v, want a *lifecycle.BuildError", err)
	}
	return failed
}

// image is what was built for a platform.
func (f *fixture) image(res lifecycle.BuildResult, platform string) v1.Image {
	f.t.Helper()
	img, err := f.registry.Image(f.t.Context(), f.host+"/dev/web@"+string(res.Digest), platform)
	if err != nil {
		f.t.Fatal(err)
	}
	return img
}

// content is what all layers of an image together hold: regular files by path.
func (f *fixture) content(res lifecycle.BuildResult) map[string]string {
	f.t.Helper()
	return contentOf(f.t, f.image(res, "linux/amd64"))
}

func contentOf(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	all := map[string]string{}
	eachFile(t, img, func(h *tar.Header, content []byte) {
		if h.Typeflag == tar.TypeReg {
			all[strings.TrimPrefix(h.Name, "/")] = string(content)
		}
	})
	return all
}

func eachFile(t *testing.T, img v1.Image, f func(h *tar.Header, content []byte)) {
	t.Helper()
	r := mutate.Extract(img)
	defer r.Close()
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		f(h, content)
	}
}

// push makes a reference lead to an image of one file, and returns its digest.
func (f *fixture) push(reference string, files map[string]string) string {
	f.t.Helper()
	return devtest.PushFiles(f.t, reference, files)
}

// busybox pushes an image with a shell and returns its digest.
func (f *fixture) busybox(reference string) string {
	f.t.Helper()
	return devtest.PushBusybox(f.t, reference)
}

// digestOf asks the registry where a reference leads.
func digestOf(t *testing.T, reference string) string {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	d, err := remote.Head(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return d.Digest.String()
}

// imageFor makes an image of one file, which holds its architecture.
func (f *fixture) imageFor(architecture string) v1.Image {
	f.t.Helper()
	image, err := crane.Image(map[string][]byte{"which": []byte(architecture)})
	if err != nil {
		f.t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		f.t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	if image, err = mutate.ConfigFile(image, config); err != nil {
		f.t.Fatal(err)
	}
	return image
}

// pushPlatforms makes a reference lead to an index of images by their platforms,
// and returns its digest.
func (f *fixture) pushPlatforms(reference string, images map[string]v1.Image) string {
	f.t.Helper()
	index := v1.ImageIndex(empty.Index)
	for platform, image := range images {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			f.t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: p}})
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(f.t.Context())); err != nil {
		f.t.Fatal(err)
	}
	return digestOf(f.t, reference)
}
