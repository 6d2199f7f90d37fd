package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/examples/quickstart/shop"
)

const built = "storefront"

// goBuild is one program, and what builds it on each side: the same module, base
// image, registry and platform, and a build cache for each.
type goBuild struct {
	*bench
	repo     *shop.Repository
	ko       string
	registry string
	base     string
	edits    int
	// caches are the folders of Go's build cache, and of ko's own.
	ourCache, koCache string
}

// builds compares the Go builder with ko. Each side is a process that finds out
// by itself what there is to do.
func builds(ctx context.Context, b *bench) ([]comparison, error) {
	g := &goBuild{bench: b, registry: b.registry()}
	var err error
	if g.ko, err = b.peer(ctx, "ko", "github.com/google/ko"); err != nil {
		return nil, err
	}
	if g.base, err = pushBase(ctx, g.registry); err != nil {
		return nil, err
	}
	if err := g.createShop(ctx); err != nil {
		return nil, err
	}
	ours := side{name: "lifecycle/build/golang", run: g.runOurs}
	ko := side{name: "ko build", run: g.runKo}
	with := func(s side, before ...func(context.Context) error) side {
		s.before = func(ctx context.Context) error {
			for _, f := range before {
				if err := f(ctx); err != nil {
					return err
				}
			}
			return nil
		}
		return s
	}
	return []comparison{
		{name: "build, empty cache", cold: true, ours: with(ours, g.edit, g.emptyOurs), peer: with(ko, g.emptyKo)},
		{name: "build, one file edited", ours: with(ours, g.edit), peer: ko},
		{name: "build, nothing to do", ours: ours, peer: ko},
	}, nil
}

// pushBase pushes a base image with nothing in it: what a real one costs is
// downloading it, which says nothing about a builder.
func pushBase(ctx context.Context, registry string) (string, error) {
	platform := v1.Platform{OS: "linux", Architecture: "amd64"}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: platform.OS, Architecture: platform.Architecture, RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		return "", err
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &platform}})
	hash, err := index.Digest()
	if err != nil {
		return "", err
	}
	ref, err := name.NewDigest(registry+"/base@"+hash.String(), name.Insecure)
	if err != nil {
		return "", err
	}
	return ref.String(), remote.WriteIndex(ref, index, remote.WithContext(ctx))
}

func (g *goBuild) createShop(ctx context.Context) error {
	dir, err := g.folder("build")
	if err != nil {
		return err
	}
	push := g.registry + "/ours"
	if g.repo, err = shop.Create(ctx, dir, shop.Options{Namespace: "shop", Receipts: "pharos", Push: push, Pull: push, Insecure: true}); err != nil {
		return err
	}
	recipe := "{go: {package: ./services/" + built
	return g.repo.Replace("pharos.yaml", recipe+"}}", recipe+`, base: "`+g.base+`"}}`)
}

// edit makes a change to the program, and commits it.
func (g *goBuild) edit(ctx context.Context) error {
	g.edits++
	file := filepath.Join(g.repo.Dir(), "services", built, "edit.go")
	content := fmt.Sprintf("package main\n\nfunc init() { println(\"edit\", %d) }\n", g.edits)
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		return err
	}
	return g.repo.Commit(ctx, fmt.Sprintf("Edit %d", g.edits))
}

func (g *goBuild) emptyOurs(context.Context) (err error) {
	g.ourCache, err = g.emptied(g.ourCache, "our-cache")
	return err
}

// emptyKo leaves "go tool buildid" in the new cache, which ko calls: Go builds
// it once per release, and that takes half as long again as the image.
func (g *goBuild) emptyKo(ctx context.Context) (err error) {
	if g.koCache, err = g.emptied(g.koCache, "ko-cache"); err != nil {
		return err
	}
	return command{path: "go", args: []string{"tool", "buildid", g.self}, env: []string{"GOCACHE=" + filepath.Join(g.koCache, "go")}}.run(ctx)
}

// emptied removes a cache, since each is large, and returns a new one.
func (g *goBuild) emptied(cache, name string) (string, error) {
	if err := os.RemoveAll(cache); err != nil {
		return "", err
	}
	return g.folder(name)
}

func (g *goBuild) runOurs(ctx context.Context) error {
	return command{
		path: g.self, args: []string{childFlag, "build", g.repo.Dir(), built, g.registry + "/ours/" + built},
		env: []string{"GOCACHE=" + filepath.Join(g.ourCache, "go")},
	}.run(ctx)
}

func (g *goBuild) runKo(ctx context.Context) error {
	return command{
		path: g.ko, args: []string{"build", "--bare", "--sbom=none", "--insecure-registry", "--platform=linux/amd64", "./services/" + built},
		dir: g.repo.Dir(),
		env: []string{
			"KO_DOCKER_REPO=" + g.registry + "/ko", "KO_DEFAULTBASEIMAGE=" + g.base,
			"GOCACHE=" + filepath.Join(g.koCache, "go"), "KOCACHE=" + filepath.Join(g.koCache, "ko"),
		},
	}.run(ctx)
}
