package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/dockerfile"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/buildcontext"
)

// dockerfile compares for an image that a Dockerfile builds. What keeps the
// Dockerfile from being read is catalogue.Check's to say.
func (k *check) dockerfile() error {
	b := *k.image.Build.Dockerfile
	file := path.Clean(b.Path)
	content, err := k.tree.ReadFile(k.ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	parsed, err := dockerfile.Parse(file, content)
	if err != nil {
		return nil
	}
	d := &dockerfileCheck{check: k, file: file, pruned: map[string]bool{}, read: map[string]bool{}, known: true, said: map[string]bool{}, mounted: map[string]map[string]bool{}}
	for _, name := range parsed.Undeclared(b.Args) {
		d.say(file, fmt.Sprintf("%s: no ARG declares the argument %s, so it changes the fingerprint and not the image: declare it, or remove it from the recipe", file, name))
	}
	for _, platform := range k.image.Platforms {
		own, _, err := k.contexts.Find(k.ctx, file, content, dockerfile.Options{Target: b.Target, Args: b.Args, Platform: platform})
		if err != nil {
			return err
		}
		if own != nil {
			d.say(file, file+": "+own.Text(file, content))
			d.own = own
		}
	}
	if d.inputs, _, err = catalogue.Prune(k.ctx, k.tree, k.image.Inputs); err != nil {
		if k.ctx.Err() != nil {
			return err
		}
		d.inputs = source.Tree{} // so too
	}
	for _, platform := range k.image.Platforms {
		plan, err := parsed.Plan(dockerfile.Options{Target: b.Target, Args: b.Args, Platform: platform})
		if err != nil {
			return nil
		}
		if err := d.platform(plan); err != nil {
			return err
		}
	}
	d.unmounted(b)
	if d.own == nil {
		d.compare()
	}
	return nil
}

// dockerfileCheck gathers what a Dockerfile reads for all platforms.
type dockerfileCheck struct {
	*check
	file string
	// read is what it reads of the whole tree, and pruned what it would read of
	// the inputs alone.
	read, pruned map[string]bool
	known        bool // nothing else is read
	said         map[string]bool
	inputs       source.Tree // without an ID if there is none
	// sources are what the instructions take of the context, and fatal those without
	// which a build of the inputs alone fails, of each platform in their order.
	sources, fatal []dockerfile.Source
	// mounted are the ids that RUN mounts, by the recipe's field; there may be more
	// if moreMounts is set.
	mounted    map[string]map[string]bool
	moreMounts bool
	// own is the context that it was written for, if that is not the root: then
	// what it reads of the root says nothing.
	own *buildcontext.Own
}

func (d *dockerfileCheck) platform(plan *dockerfile.Plan) error {
	reads, err := plan.Reads(d.ctx, d.tree)
	if ignore, ok := errors.AsType[*dockerfile.ParseError](err); ok {
		d.known = false
		d.say(ignore.Path, ignore.Error())
		return nil
	}
	if large, ok := errors.AsType[*dockerfile.TooLargeError](err); ok {
		d.known = false
		d.say(cmp.Or(large.Path, d.file), large.Error())
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range reads.Files {
		d.read[name] = true
	}
	d.mounts(plan)
	d.sources = append(d.sources, plan.Sources()...)
	if err := d.prunedReads(plan, reads.Missing); err != nil {
		return err
	}
	for _, s := range reads.Missing {
		switch {
		case s.Optional || d.own.Moves(s):
		case s.Ignored != "":
			d.source(s, "correct one of them")
		default:
			d.source(s, "correct it, or add what it names: the context of a build is the root of the tree")
		}
	}
	for _, s := range buildcontext.Vain(plan, reads.Missing) {
		if !d.own.Moves(s) {
			d.source(s, "the image is built without it: correct it, or remove it")
		}
	}
	for _, s := range reads.Unknown {
		d.known = false
		d.source(s, "so it cannot be compared with the inputs")
	}
	for _, s := range plan.Remote {
		d.source(s, "so the image may change although the tree does not: add --checksum=sha256:…")
	}
	return nil
}

// prunedReads looks at the inputs alone, unless they cannot be cut out of the
// tree, which is catalogue.Check's to say.
func (d *dockerfileCheck) prunedReads(plan *dockerfile.Plan, gone []dockerfile.Source) error {
	if d.inputs.ID == "" {
		return nil
	}
	reads, err := plan.Reads(d.ctx, d.inputs)
	if err != nil {
		return err
	}
	for _, name := range reads.Files {
		d.pruned[name] = true
	}
	for _, s := range reads.Missing {
		is := func(other dockerfile.Source) bool { return other.Line == s.Line && other.Path == s.Path }
		if !s.Optional && !slices.ContainsFunc(gone, is) && !slices.ContainsFunc(d.fatal, is) {
			d.fatal = append(d.fatal, s)
		}
	}
	return nil
}

func (d *dockerfileCheck) source(s dockerfile.Source, advice string) {
	d.say(d.file, fmt.Sprintf("%s:%d: %s %s: %s", d.file, s.Line, s.Path, s.Reason, advice))
}

// say adds a finding that may come once for each platform.
func (d *dockerfileCheck) say(file, message string) {
	if !d.said[message] {
		d.said[message] = true
		d.add(catalogue.Finding{Path: file, Message: message})
	}
}

func (d *dockerfileCheck) compare() {
	all := slices.Sorted(maps.Keys(d.read))
	left := slices.DeleteFunc(slices.Clone(all), d.image.Inputs.Match)
	for _, s := range d.fatal {
		left = d.sourceLeftOut(s, left)
	}
	left = slices.DeleteFunc(left, func(name string) bool { return !d.counts(name) })
	for _, c := range d.cover(left, d.read, d.isTaken) {
		d.leftOut(c, "is read by "+d.file+", which would be built without it")
	}
	if d.known {
		d.unread(all, d.file)
	}
}

// sourceLeftOut reports a source without which the build fails, and returns the
// files that are left out beside those that it names. The pattern that declares it
// is the one that a build asks for.
func (d *dockerfileCheck) sourceLeftOut(s dockerfile.Source, left []string) (others []string) {
	c := cover{pattern: literalRoot(s)}
	if hasWildcards(s) {
		c.dir = c.pattern // both kinds of pattern mean the same within a segment
	} else {
		c.dir, c.pattern = c.pattern, Literal(c.pattern)
	}
	names := alone(c.pattern)
	for _, name := range left {
		if names.Match(name) {
			c.files = append(c.files, name)
		} else {
			others = append(others, name)
		}
	}
	if len(c.files) == 0 {
		return left // a link leads elsewhere
	}
	if len(c.files) == 1 {
		c.dir = ""
	}
	d.leftOut(c, fmt.Sprintf("is taken by %s:%d, which fails without it", d.file, s.Line))
	return others
}

// isTaken says whether a source is a folder, or has one above its wildcards, that
// holds another one: all below may be declared then.
func (d *dockerfileCheck) isTaken(dir string) bool {
	return slices.ContainsFunc(d.sources, func(s dockerfile.Source) bool {
		root := literalRoot(s)
		if hasWildcards(s) {
			root = path.Dir(root[:strings.IndexAny(root, wildcards)] + "x")
		}
		return below(dir, root)
	})
}

const wildcards = "*?["

func hasWildcards(s dockerfile.Source) bool { return strings.ContainsAny(s.Path, wildcards) }

// literalRoot is the path of a source from the root, as it is written.
func literalRoot(s dockerfile.Source) string { return path.Join(".", path.Clean("/" + s.Path)[1:]) }

// counts says whether it matters that a file is left out: one with ignore rules
// only if they would keep something out, others unless it was on purpose.
func (d *dockerfileCheck) counts(name string) bool {
	if name == ".dockerignore" || name == d.file+".dockerignore" {
		return d.inputs.ID == "" || !d.shrinksOnly()
	}
	_, onPurpose := excludedBy(d.image.Inputs, name)
	return !onPurpose
}

// shrinksOnly says whether nothing is read of the inputs alone that is not read
// of the whole tree.
func (d *dockerfileCheck) shrinksOnly() bool {
	for name := range d.pruned {
		if !d.read[name] {
			return false
		}
	}
	return true
}
