package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/dockerfile"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// defaultDockerfile is the DockerfileBuild.Path of a recipe that names none.
const defaultDockerfile = "Dockerfile"

// dockerfiles are the Dockerfiles of one tree by their paths: each is parsed
// once, however many images are built from it. The context is that of all images
// of the tree.
type dockerfiles = memo[string, *dockerfile.File]

func parseDockerfileOf(ctx context.Context, tree source.Tree, file string) (*dockerfile.File, error) {
	entry, err := find(ctx, tree, file)
	switch {
	case err != nil:
		return nil, err
	case entry.Mode == 0:
		missing, err := noDockerfile(ctx, tree, file)
		if err != nil {
			return nil, err
		}
		return nil, missing
	case !entry.Mode.IsFile():
		return nil, &InputError{Path: file, Reason: "is what builds the image, and must be an ordinary file: no folder, symbolic link or submodule"}
	}
	content, err := tree.ReadFile(ctx, file)
	if err != nil {
		return nil, err
	}
	return dockerfile.Parse(file, content)
}

// basis returns what an image is built on for each of the platforms.
func (b *DockerfileBuild) basis(ctx context.Context, tree source.Tree, files *dockerfiles, inputs Patterns, platforms []string) (basis, error) {
	file := b.file()
	parsed, err := files.get(file, func() (*dockerfile.File, error) { return parseDockerfileOf(ctx, tree, file) })
	if _, noFile := errors.AsType[*InputError](err); !noFile && !inputs.Match(file) {
		return basis{}, &InputError{Path: file, Reason: "is what builds the image, and is not among its inputs: add it to them"}
	}
	if err != nil {
		return basis{}, err
	}
	var built basis
	var errs []error
	for _, platform := range platforms {
		if err := ctx.Err(); err != nil {
			return basis{}, err
		}
		plan, err := parsed.Plan(dockerfile.Options{Target: b.Target, Args: b.Args, Platform: platform})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		built.frontend = plan.Frontend
		built.bases = append(built.bases, basesOf{platform: platform, refs: plan.Bases})
		for _, s := range plan.Triggers {
			if t := (trigger{fmt.Sprintf("%s:%d", file, s.Line), s.Path}); !slices.Contains(built.triggers, t) {
				built.triggers = append(built.triggers, t)
			}
		}
	}
	if len(errs) > 0 {
		return basis{}, distinct(errs)
	}
	for _, ref := range built.references() {
		if !reference.MatchString(ref) {
			errs = append(errs, &InputError{Path: file, Reason: fmt.Sprintf("names %q, which is no reference of an image by tag or SHA-256 digest", ref)})
		}
	}
	same := func(other basesOf) bool { return slices.Equal(other.refs, built.bases[0].refs) }
	if len(built.bases) > 0 && !slices.ContainsFunc(built.bases, func(of basesOf) bool { return !same(of) }) {
		built.bases = []basesOf{{refs: built.bases[0].refs}}
	}
	return built, errors.Join(errs...)
}

// find returns the entry at a path, the zero Entry if there is none. An object
// that is missing is an error, unlike to Lookup.
func find(ctx context.Context, tree source.Tree, name string) (source.Entry, error) {
	at := source.Entry{Mode: source.ModeDir, ID: tree.ID}
	for part := range strings.SplitSeq(name, "/") {
		if at.Mode != source.ModeDir {
			return source.Entry{}, nil
		}
		entries, err := tree.Objects.Tree(ctx, at.ID)
		if err != nil {
			return source.Entry{}, fmt.Errorf("%s: %w", name, err)
		}
		if at = named(entries, part); at.Mode == 0 {
			return source.Entry{}, nil
		}
	}
	return at, nil
}

// named returns the entry of that name, the zero Entry if there is none.
func named(entries []source.Entry, name string) source.Entry {
	for i := range entries {
		if entries[i].Name == name {
			return entries[i]
		}
	}
	return source.Entry{}
}

// file is the path of the Dockerfile.
func (b *DockerfileBuild) file() string { return cleanPath(cmp.Or(b.Path, defaultDockerfile)) }

// distinct joins errors and leaves out those that say the same.
func distinct(errs []error) error {
	said := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		again := said[err.Error()]
		said[err.Error()] = true
		return again
	})...)
}
