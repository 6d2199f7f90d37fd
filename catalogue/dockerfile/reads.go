package dockerfile

import (
	"context"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Reads is what a build takes from its context.
type Reads struct {
	// Files are the paths that are read, slash-separated, sorted bytewise, each
	// once: the Dockerfile, the file of its ignore rules, and the files, symbolic
	// links and submodules that COPY, ADD and RUN --mount=type=bind take or go
	// through.
	Files []string
	// Missing are the sources that match nothing in the context.
	Missing []Source
	// Unknown are the sources of which the Dockerfile and the tree alone do not
	// tell what they take.
	Unknown []Source
}

// Source is something that an instruction takes.
type Source struct {
	Line   int    // of the instruction, counted from 1
	Path   string // as written, with arguments expanded where they are known
	Reason string // why it is listed, as the rest of a sentence about it
	// Optional says that the build goes on without it: it holds wildcards.
	Optional bool
	// Ignored is the file whose ignore rules keep out of the context what is meant;
	// "" if they do not.
	Ignored string
}

// Sources are what the instructions take from the build context, in their order,
// without those of which it cannot be said. Reason is empty.
func (p *Plan) Sources() []Source {
	var all []Source
	for _, t := range p.takes {
		all = append(all, Source{Line: t.line, Path: t.path, Optional: t.optional})
	}
	return all
}

// Reads says what the target takes from a tree whose root is the build context.
// It reads directories, symbolic links and ignore files, and of them only what
// the sources lead to. Errors: a *ParseError for the ignore rules, a
// *TooLargeError, and what the tree's objects return.
func (p *Plan) Reads(ctx context.Context, tree source.Tree) (*Reads, error) {
	return p.reads(ctx, tree, defaults)
}

func (p *Plan) reads(ctx context.Context, tree source.Tree, l limits) (*Reads, error) {
	r := &reading{limits: l}
	whole := newContext(tree, nil, r)
	n, err := whole.resolve(ctx, clean(p.file.Path))
	if err != nil {
		return nil, err
	}
	if n == nil {
		n = &node{path: p.file.Path} // it came from elsewhere, or is missing itself
	}
	r.take(n)
	ignore, err := whole.readIgnore(ctx, p.file.Path)
	if err != nil {
		return nil, err
	}
	around := len(r.files)
	c := newContext(tree, ignore, r)
	out := &Reads{Unknown: slices.Clone(p.unknown)}
	ignored := ignored{tree: tree, rules: ignore, limits: l}
	missing := map[int]take{} // those that the build may go on without, by where they stand in out
	for _, t := range p.takes {
		reason, err := c.run(ctx, t)
		if err != nil {
			return nil, err
		}
		if reason == "" {
			continue
		}
		if t.optional && reason == noMatch {
			missing[len(out.Missing)] = t
		}
		s := Source{Line: t.line, Path: t.path, Reason: reason}
		if s.Ignored, err = ignored.by(ctx, t); err != nil {
			return nil, err
		}
		if s.Ignored != "" {
			s.Reason = "is kept out of the build context by " + s.Ignored
		}
		out.Missing = append(out.Missing, s)
	}
	taken := r.files[around:]
	slices.Sort(taken)
	for i, t := range missing {
		out.Missing[i].Optional = isSent(t, taken)
	}
	slices.Sort(r.files)
	out.Files = slices.Compact(r.files)
	return out, nil
}

const (
	noMatch = "matches nothing in the build context"
	nothing = "leads to nothing in the build context"
)

// run takes what an instruction takes. If there is nothing, it says why.
func (c *buildContext) run(ctx context.Context, t take) (reason string, err error) {
	roots, reason, err := c.roots(ctx, t)
	if err != nil || reason != "" {
		return reason, err
	}
	var f filter
	if f.include, err = newRules(t.include); err != nil {
		return "", err
	}
	if f.exclude, err = newRules(t.exclude); err != nil {
		return "", err
	}
	found := false
	for _, root := range roots {
		n, err := c.resolve(ctx, root)
		if err != nil {
			return "", err
		}
		if n == nil || t.include != nil && n.mode != source.ModeDir {
			reason = nothing
			continue
		}
		took, err := c.takeBelow(ctx, n, "", f, above{})
		if err != nil {
			return "", err
		}
		found = found || took || t.include == nil
	}
	if !found && reason == "" {
		reason = noMatch
	}
	return reason, nil
}

// isSent says whether the directory in which a source's wildcards are looked for
// is there: a client sends only what the instructions name, so it is not if
// nothing in it is taken, and then the build fails. taken is sorted.
func isSent(t take, taken []string) bool {
	base, _ := splitWildcards(t.root)
	i, _ := slices.BinarySearch(taken, base+"/")
	return base == "" || i < len(taken) && strings.HasPrefix(taken[i], base+"/")
}
