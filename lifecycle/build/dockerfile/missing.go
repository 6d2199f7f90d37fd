package dockerfile

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	recipe "github.com/pharos-dev/pharos/catalogue/dockerfile"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// checkReads looks for what COPY, ADD and mounts take of the whole tree and would
// not find among the inputs, or not behind ignore rules. What the whole tree does
// not hold either is for BuildKit to say. The error is of the trees, or of ctx.
func (b *build) checkReads(ctx context.Context, p *plan, found *problems) error {
	for _, of := range p.plans {
		lacks, err := b.lacks(ctx, of, b.request.State.Inputs)
		if err != nil {
			return err
		}
		if len(lacks) == 0 {
			continue
		}
		for _, at := range slices.SortedFunc(maps.Keys(lacks), sourceAt.compare) {
			if s := lacks[at]; s.Ignored != "" && !s.Optional {
				found.say("%s:%d: %s %s", b.file, s.Line, s.Path, s.Reason)
			}
		}
		if b.request.Full.ID == b.request.State.Inputs.ID {
			continue
		}
		nowhere, err := b.lacks(ctx, of, b.request.Full)
		if err != nil {
			return err
		}
		for at, s := range lacks {
			if _, gone := nowhere[at]; !gone && !s.Optional && s.Ignored == "" {
				b.missSource(ctx, s.Path, found)
			}
		}
	}
	return nil
}

type sourceAt struct {
	line int
	path string
}

func (a sourceAt) compare(b sourceAt) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.path, b.path))
}

// lacks returns the sources that match nothing in a tree.
func (b *build) lacks(ctx context.Context, of *recipe.Plan, tree source.Tree) (map[sourceAt]recipe.Source, error) {
	reads, err := of.Reads(ctx, tree)
	if wrong, ok := errors.AsType[*recipe.ParseError](err); ok {
		return nil, &lifecycle.BuildError{Image: b.request.State.Image.Name, Reason: wrong.Error(), Err: wrong}
	}
	if err != nil {
		return nil, &lifecycle.Error{Op: "read the inputs of image", On: b.request.State.Image.Name, Class: lifecycle.ErrSource, Err: err}
	}
	lacks := map[sourceAt]recipe.Source{}
	for _, s := range reads.Missing {
		lacks[sourceAt{s.Line, s.Path}] = s
	}
	return lacks, nil
}

// missSource notes what has to be declared for a source: the paths that it leads
// through, if that are links.
func (b *build) missSource(ctx context.Context, written string, found *problems) {
	name := path.Clean("/" + written)[1:]
	if strings.ContainsAny(name, "*?[") {
		// Both kinds of pattern mean the same within a segment.
		found.Miss(name, name)
		return
	}
	for _, at := range follow(ctx, b.request.Full, name) {
		if _, err := b.request.State.Inputs.Lookup(ctx, at); errors.Is(err, source.ErrNotFound) {
			found.Miss(at, problem.Literal(at))
		}
	}
}

// maxLinks is how many links are followed on the way to one path, as Linux does.
const maxLinks = 40

// follow returns the symbolic links that a path leads through, and what it leads
// to in the end.
func follow(ctx context.Context, tree source.Tree, name string) []string {
	var way []string
	rest, at := strings.Split(name, "/"), ""
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		e, err := tree.Lookup(ctx, next)
		if err != nil || e.Mode != source.ModeSymlink || links == maxLinks {
			at = next
			continue
		}
		links++
		way = append(way, next)
		target, err := source.ReadLink(ctx, tree.Objects, e.ID)
		if err != nil {
			return way
		}
		if !path.IsAbs(target) {
			target = path.Join("/", at, target)
		}
		rest, at = append(strings.Split(path.Clean(target)[1:], "/"), rest...), ""
	}
	return append(way, at)
}
