package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// childFlag makes this program do one thing by the library and end, so that it
// is measured as a whole process, as its peer is.
const childFlag = "--as-child"

func child(ctx context.Context, args []string, stdout io.Writer) error {
	switch {
	case len(args) == 3 && args[0] == "render":
		return renderCommit(ctx, args[1], render.NewCache(render.CacheConfig{Dir: args[2]}), stdout)
	case len(args) == 4 && args[0] == "build":
		return buildCommit(ctx, args[1], args[2], args[3], stdout)
	case len(args) == 5 && args[0] == "apply":
		return applyFile(ctx, args[1], args[2], args[3], args[4], stdout)
	case len(args) == 4 && args[0] == "apply-bare":
		return applyBare(ctx, args[1], args[2], args[3], stdout)
	case len(args) == 4 && args[0] == "reap":
		n, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return reapAll(ctx, args[1], args[2], n, stdout)
	case len(args) == 3 && args[0] == "reap-bare":
		return reapBare(ctx, args[1], args[2], stdout)
	case len(args) == 1 && args[0] == "takeover":
		return carry(ctx, os.Stdin, stdout)
	case len(args) == 4 && args[0] == "dockerfile":
		return buildDockerfile(ctx, args[1], args[2], args[3], stdout)
	}
	return fmt.Errorf("%s %q is not for people", childFlag, args)
}

// buildCommit makes sure that an image of a repository's last commit is in a
// registry: it builds what is not there.
func buildCommit(ctx context.Context, dir, image, repository string, stdout io.Writer) error {
	tree, states, err := lastStates(ctx, dir)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(states, func(s catalogue.State) bool { return s.Image.Name == image })
	if i < 0 {
		return fmt.Errorf("there is no image %q", image)
	}
	images, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		return err
	}
	found, err := images.Find(ctx, repository, states[i].Fingerprint)
	if err == nil {
		fmt.Fprintln(stdout, found.Digest)
		return nil
	}
	if !errors.Is(err, lifecycle.ErrImageNotFound) {
		return err
	}
	builder, err := golang.New(golang.Config{Registry: images, Env: os.Environ()})
	if err != nil {
		return err
	}
	built, err := builder.Build(ctx, lifecycle.BuildRequest{State: states[i], Full: tree, Repository: repository})
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, built.Digest)
	return nil
}

// lastStates returns the tree of a repository's last commit and its images.
func lastStates(ctx context.Context, dir string) (source.Tree, []catalogue.State, error) {
	repo, err := source.Open(dir)
	if err != nil {
		return source.Tree{}, nil, err
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return source.Tree{}, nil, err
	}
	c, err := catalogue.Load(ctx, commit.Tree)
	if err != nil {
		return source.Tree{}, nil, err
	}
	states, err := c.States(ctx, commit.Tree)
	return commit.Tree, states, err
}
