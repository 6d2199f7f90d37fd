package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
)

// dockerfileBuild is one image of a Dockerfile, and what builds it on each side: the
// same BuildKit, registry, base image and context.
type dockerfileBuild struct {
	*bench
	buildkit *devenv.BuildKit
	registry string
	repo     string // a Git repository
	context  string // the same files, for the peer
	edits    int
}

const (
	// contextFiles and contextFile are how many files the context holds, and how
	// many bytes each has.
	contextFiles = 1000
	contextFile  = 8 << 10
)

// dockerfiles compares the Dockerfile builder with buildctl. Each side is a process;
// ours also finds out what the image is: it reads the commit, the catalogue and the
// fingerprint.
func dockerfiles(ctx context.Context, b *bench) ([]comparison, error) {
	d := &dockerfileBuild{bench: b, registry: b.registry()}
	var err error
	if d.buildkit, err = devenv.StartBuildKit(ctx, devenv.BuildKitOptions{Output: b.progress}); err != nil {
		return nil, err
	}
	b.closers = append(b.closers, d.buildkit.Stop)
	if err := d.create(ctx); err != nil {
		return nil, err
	}
	ours := func(before ...func(context.Context) error) side {
		return side{name: "lifecycle/build/dockerfile", before: inTurn(before), run: d.runOurs}
	}
	peer := func(before ...func(context.Context) error) side {
		return side{name: "buildctl build", before: inTurn(before), run: d.runPeer}
	}
	return []comparison{
		{name: "dockerfile, empty cache", cold: true, ours: ours(d.prune), peer: peer(d.prune)},
		{name: "dockerfile, one file edited", ours: ours(d.edit), peer: peer(d.edit)},
		{name: "dockerfile, nothing to do", ours: ours(), peer: peer()},
	}, nil
}

func inTurn(all []func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, f := range all {
			if err := f(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// create makes the repository.
func (d *dockerfileBuild) create(ctx context.Context) error {
	base, err := d.pushBase(ctx)
	if err != nil {
		return err
	}
	if d.repo, err = d.folder("dockerfile"); err != nil {
		return err
	}
	files := map[string]string{
		"pharos.yaml": "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: " + built + "\n  build: {dockerfile: {}}\n  inputs: [Dockerfile, src]\n",
		"Dockerfile":  "FROM " + base + " AS build\nCOPY src /src\nRUN cat /src/*/* | sha256sum >/sum\nFROM scratch\nCOPY --from=build /sum /sum\nCOPY src /src\n",
	}
	for i := range contextFiles {
		line := fmt.Sprintf("file %d of the context\n", i)
		files[fmt.Sprintf("src/%02d/%d.txt", i%20, i)] = strings.Repeat(line, contextFile/len(line))
	}
	for name, content := range files {
		file := filepath.Join(d.repo, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := d.git(ctx, "init", "--quiet"); err != nil {
		return err
	}
	return d.commit(ctx)
}

func (d *dockerfileBuild) pushBase(ctx context.Context) (string, error) {
	image, err := devenv.BusyboxImage(ctx)
	if err != nil {
		return "", err
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	ref, err := name.NewDigest(d.registry+"/base@"+digest.String(), name.Insecure)
	if err != nil {
		return "", err
	}
	return ref.String(), remote.WriteIndex(ref, index, remote.WithContext(ctx))
}

func (d *dockerfileBuild) git(ctx context.Context, args ...string) error {
	_, err := command{path: "git", args: append([]string{"-c", "user.name=bench", "-c", "user.email=bench@localhost"}, args...), dir: d.repo}.output(ctx)
	return err
}

// commit commits what there is, and writes the same files out for the peer.
func (d *dockerfileBuild) commit(ctx context.Context) error {
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--message", "Edit"}} {
		if err := d.git(ctx, args...); err != nil {
			return err
		}
	}
	repo, err := source.Open(d.repo)
	if err != nil {
		return err
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return err
	}
	if d.context == "" {
		d.context = filepath.Join(d.dir, "context")
		return source.Export(ctx, commit.Tree, d.context)
	}
	content, err := commit.Tree.ReadFile(ctx, "src/00/0.txt")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.context, "src", "00", "0.txt"), content, 0o644)
}

func (d *dockerfileBuild) edit(ctx context.Context) error {
	d.edits++
	content := fmt.Sprintf("edit %d\n", d.edits)
	if err := os.WriteFile(filepath.Join(d.repo, "src", "00", "0.txt"), []byte(content), 0o644); err != nil {
		return err
	}
	return d.commit(ctx)
}

// prune empties BuildKit's cache.
func (d *dockerfileBuild) prune(ctx context.Context) error {
	_, err := command{path: d.buildkit.Buildctl(), args: []string{"--addr", d.buildkit.Address(), "prune", "--all"}}.output(ctx)
	return err
}

func (d *dockerfileBuild) runOurs(ctx context.Context) error {
	return command{path: d.self, args: []string{childFlag, "dockerfile", d.repo, d.registry + "/ours/" + built, d.buildkit.Address()}}.run(ctx)
}

func (d *dockerfileBuild) runPeer(ctx context.Context) error {
	metadata := filepath.Join(d.dir, "metadata.json")
	_, err := command{path: d.buildkit.Buildctl(), args: []string{
		"--addr", d.buildkit.Address(), "build", "--progress=plain", "--frontend=dockerfile.v0",
		"--local=context=" + d.context, "--local=dockerfile=" + d.context,
		"--opt=platform=linux/amd64", "--opt=multi-platform=true", "--opt=build-arg:SOURCE_DATE_EPOCH=0",
		"--output=type=image,push=true,registry.insecure=true,oci-mediatypes=true,rewrite-timestamp=true,name=" + d.registry + "/peer/" + built + ":x",
		"--metadata-file=" + metadata,
	}}.output(ctx)
	if err != nil {
		return err
	}
	_, err = os.Stat(metadata)
	return err
}
