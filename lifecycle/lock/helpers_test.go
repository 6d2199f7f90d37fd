package lock_test

import (
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

func newResolver(t *testing.T, keychain authn.Keychain) *registry.Registry {
	t.Helper()
	r, err := registry.New(registry.Config{
		Insecure: true, Keychain: keychain,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// move has a tag lead to a new image for the platforms, and returns its digest.
func move(t *testing.T, reference string, platforms ...string) lifecycle.Digest {
	t.Helper()
	index := v1.ImageIndex(empty.Index)
	for _, platform := range platforms {
		img, err := random.Image(16, 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	ref, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return lifecycle.Digest(digest.String())
}

// goImage is a catalogue's entry for a Go program on a base.
func goImage(image, base string, platforms ...string) string {
	return fmt.Sprintf("- name: %s\n  build: {go: {package: ./%[1]s, base: %q, toolchain: go1.26.8}}\n  inputs: [%[1]s]\n%[3]s", image, base, platformsLine(platforms))
}

// dockerImage is a catalogue's entry for an image whose Dockerfile, below web, is
// the same for all.
func dockerImage(image string, platforms ...string) string {
	return fmt.Sprintf("- name: %s\n  build: {dockerfile: {path: web/Dockerfile}}\n  inputs: [web]\n%s", image, platformsLine(platforms))
}

func platformsLine(platforms []string) string {
	if len(platforms) == 0 {
		return ""
	}
	return "  platforms: [" + strings.Join(platforms, ", ") + "]\n"
}

// newTree makes a tree of images, a Dockerfile and a lock; empty files are not
// there.
func newTree(dockerfile, locked string, images ...string) source.Tree {
	files := map[string]source.File{
		catalogue.FileName: {Content: "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n" + strings.Join(images, "")},
	}
	for path, content := range map[string]string{"web/Dockerfile": dockerfile, catalogue.LockFileName: locked} {
		if content != "" {
			files[path] = source.File{Content: content}
		}
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		log.Fatal(err)
	}
	return tree
}

// locked is the text of a lock of references and digests in turn.
func locked(t *testing.T, pairs ...string) string {
	t.Helper()
	images := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		images[pairs[i]] = pairs[i+1]
	}
	data, err := catalogue.Lock{Images: images}.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// old is a digest that nothing has.
var old = "sha256:" + strings.Repeat("0", 64)
