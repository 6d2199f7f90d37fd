package buildcontext

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/dockerfile"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// Finder looks at the Dockerfiles of one tree.
type Finder struct {
	tree     source.Tree
	files    map[string]bool
	contexts map[string][]said // by Dockerfile
}

// said is the build context of a Dockerfile, and the file of another tool that says
// so.
type said struct{ dir, from string }

// New reads what other tools' files say. files are the paths of all files of the
// tree.
func New(ctx context.Context, tree source.Tree, files []string) (*Finder, error) {
	f := &Finder{tree: tree, files: make(map[string]bool, len(files)), contexts: map[string][]said{}}
	for _, name := range files {
		f.files[name] = true
	}
	for _, name := range files {
		if err := f.readTool(ctx, name); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Own is a build context of a Dockerfile's own.
type Own struct {
	Dir string // the folder
	Why string // how it is known, as a sentence about something that lies there
	// Changes are what to write, so that the root of the tree can be the context,
	// in the order of the lines.
	Changes []Change
	// Ignored is the file of ignore rules that is not read with the root as the
	// context; "" if there is none.
	Ignored string
}

// Moves says whether one of the changes is of that source. Nil moves none.
func (o *Own) Moves(s dockerfile.Source) bool {
	return o != nil && slices.ContainsFunc(o.Changes, func(c Change) bool { return c.Line == s.Line && slices.Contains(c.From, shown(s)) })
}

// Change is a line to be changed.
type Change struct {
	Line     int
	From, To []string // sources as written, and instead of them
	// Both are those of From that lie at the root as well, where they would be
	// taken from.
	Both []string
}

// Find says for which folder a Dockerfile was written; nil for the root. both are
// the sources, as written, that lie at the root and in the Dockerfile's folder too,
// where no other tool's file says what the context is: the root's are taken. The
// path of the Dockerfile is clean. The error is that of the tree's objects or of
// ctx; a Dockerfile or ignore file that is not well-formed, or is too much to look
// at, is for others to report.
func (f *Finder) Find(ctx context.Context, file string, content []byte, o dockerfile.Options) (own *Own, both []dockerfile.Source, err error) {
	root, err := f.look(ctx, file, ".", content, o)
	if root == nil || err != nil {
		return nil, nil, err
	}
	all := f.contexts[file]
	if slices.ContainsFunc(all, func(c said) bool { return c.dir == "." }) {
		return nil, nil, nil // it is built both ways, or at the root
	}
	dirs := []string{}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	for _, c := range all {
		if !slices.Contains(dirs, c.dir) {
			dirs = append(dirs, c.dir)
		}
	}
	most := 0
	for _, dir := range dirs {
		there, err := f.look(ctx, file, dir, content, o)
		if err != nil {
			return nil, nil, err
		}
		if there == nil {
			continue
		}
		c := compare(root, there)
		if len(all) == 0 && dir == path.Dir(file) {
			both = slices.DeleteFunc(slices.Clone(c.both), whole)
		}
		why := f.why(file, dir, content, c)
		if why == "" || own != nil && c.moved <= most {
			continue
		}
		most = c.moved
		own = &Own{Dir: dir, Why: why, Changes: c.changes(dir)}
		if ignore := path.Join(dir, ".dockerignore"); f.files[ignore] && file+".dockerignore" != ignore {
			own.Ignored = ignore
		}
	}
	return own, both, nil
}

// looked is what a Dockerfile finds in a folder.
type looked struct {
	sources []dockerfile.Source
	missing map[dockerfile.Source]bool
}

// look looks for the sources in a folder; nil if it cannot be said what there is.
func (f *Finder) look(ctx context.Context, file, dir string, content []byte, o dockerfile.Options) (*looked, error) {
	tree := f.tree
	if dir != "." {
		entry, err := tree.Lookup(ctx, dir)
		switch {
		case errors.Is(err, source.ErrNotFound) || err == nil && entry.Mode != source.ModeDir:
			return nil, nil
		case err != nil:
			return nil, err
		}
		tree.ID = entry.ID
		file = strings.TrimPrefix(file, dir+"/")
	}
	parsed, err := dockerfile.Parse(file, content)
	if err != nil {
		return nil, nil
	}
	plan, err := parsed.Plan(o)
	if err != nil {
		return nil, nil
	}
	reads, err := plan.Reads(ctx, tree)
	_, wrong := errors.AsType[*dockerfile.ParseError](err)
	_, large := errors.AsType[*dockerfile.TooLargeError](err)
	if wrong || large {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &looked{missing: map[dockerfile.Source]bool{}}
	for _, s := range reads.Missing {
		l.missing[key(s)] = true
	}
	for _, s := range plan.Sources() {
		if s = key(s); !slices.Contains(l.sources, s) {
			l.sources = append(l.sources, s)
		}
	}
	return l, nil
}

// key leaves only what a source is.
func key(s dockerfile.Source) dockerfile.Source { return dockerfile.Source{Line: s.Line, Path: s.Path} }

// whole says whether a source is all that lies in the context.
func whole(s dockerfile.Source) bool {
	p := path.Join("/", s.Path)
	return p == "/" || p == "/*"
}
