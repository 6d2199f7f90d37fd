package detect

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/dockerfile"
	"github.com/pharos-dev/pharos/internal/buildcontext"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// dockerfileReads is what a Dockerfile takes from its context.
type dockerfileReads struct {
	content string
	files   []string
	whole   bool   // it takes whatever lies at the root
	ignore  string // the ignore rules that hold for it
	// secrets and ssh are the ids of what its RUN lines mount, sorted.
	secrets, ssh []string
	// comments are what a person should know of it, as sentences.
	comments []string
}

// maxImages is how many Dockerfiles are looked at, and how many recipes are
// written: a file of more would be more than anybody reads, and soon larger than
// a catalogue may be.
const maxImages = 1000

// maxLarge is how many Dockerfiles may take all the time that there is for one.
const maxLarge = 3

// dockerfiles finds the Dockerfiles that can be built with the root of the tree
// as their context.
func (d *detection) dockerfiles(ctx context.Context) (err error) {
	if d.contexts, err = buildcontext.New(ctx, d.tree, d.files); err != nil {
		return err
	}
	var files []string
	for _, file := range d.seen {
		if isDockerfile(path.Base(file)) {
			files = append(files, file)
		}
	}
	if n := len(files); n > maxImages {
		d.left = true
		d.note("there are %d Dockerfiles and the first %d are looked at: write recipes for the others, from %s on, by hand", n, maxImages, files[maxImages])
		files = files[:maxImages]
	}
	for i, file := range files {
		if d.large == maxLarge {
			d.left = true
			d.note("%s makes no image yet, nor do the %d Dockerfiles behind it: they are not looked at, since the build context was too large for %d others", file, len(files)-i-1, d.large)
			break
		}
		reads, problem, err := d.readDockerfile(ctx, file)
		if err != nil {
			return err
		}
		if problem != "" {
			content, err := d.read(ctx, file)
			if err != nil {
				return err
			}
			d.refused, d.left = append(d.refused, string(content)), true
			d.note("%s makes no image yet: %s", file, problem)
			continue
		}
		d.candidates = append(d.candidates, &candidate{
			kind: catalogue.BuildDockerfile, path: file, dir: path.Dir(file), dockerfile: reads, comments: reads.comments,
		})
	}
	return nil
}

func isDockerfile(base string) bool {
	switch path.Ext(base) {
	case ".dockerignore", ".md", ".txt", ".tmpl", ".template", ".j2", ".in", ".bak", ".orig":
		return false
	}
	return base == "Dockerfile" || base == "Containerfile" ||
		strings.HasPrefix(base, "Dockerfile.") || strings.HasSuffix(base, ".Dockerfile") || strings.HasSuffix(base, ".dockerfile")
}

// readDockerfile says what a Dockerfile takes, or why it cannot be built as it is.
func (d *detection) readDockerfile(ctx context.Context, file string) (reads *dockerfileReads, problem string, err error) {
	content, err := d.read(ctx, file)
	if err != nil {
		return nil, "", err
	}
	options := dockerfile.Options{Platform: catalogue.DefaultPlatform}
	parsed, err := dockerfile.Parse(file, content)
	if err != nil {
		return nil, err.Error(), nil
	}
	plan, err := parsed.Plan(options)
	if err != nil {
		return nil, err.Error(), nil
	}
	found, err := plan.Reads(ctx, d.withOwn)
	if ignore, ok := errors.AsType[*dockerfile.ParseError](err); ok {
		return nil, ignore.Error(), nil
	}
	if large, ok := errors.AsType[*dockerfile.TooLargeError](err); ok {
		d.large++
		return nil, large.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	own, both, err := d.contexts.Find(ctx, file, content, options)
	if err != nil {
		return nil, "", err
	}
	if problem := misplaced(file, content, own, found.Missing); problem != "" {
		return nil, problem, nil
	}
	secrets, ssh := ids(plan.Secrets), ids(plan.SSH)
	for _, id := range slices.Concat(secrets, ssh) {
		if !plainID.MatchString(id) {
			return nil, fmt.Sprintf("RUN mounts %q, which a recipe cannot declare: an id has letters, digits, '_', '.' and '-'", id), nil
		}
	}
	reads = &dockerfileReads{content: string(content), files: found.Files, whole: slices.Contains(found.Files, catalogue.FileName)}
	reads.secrets, reads.ssh = secrets, ssh
	if unset := parsed.Unset(); len(unset) > 0 {
		reads.comments = append(reads.comments, fmt.Sprintf("No value is known of %s, which ARG lines declare: build.dockerfile.args gives values.", strings.Join(unset, ", ")))
	}
	for _, name := range []string{".dockerignore", file + ".dockerignore"} {
		if !d.isFile[name] {
			continue
		}
		rules, err := d.read(ctx, name)
		if err != nil {
			return nil, "", err
		}
		reads.ignore = string(rules)
	}
	if ignore := path.Join(path.Dir(file), ".dockerignore"); path.Dir(file) != "." && d.isFile[ignore] {
		reads.comments = append(reads.comments, fmt.Sprintf("%s is not read, since the context is the root: its rules belong into %s.dockerignore, with paths from the root.", ignore, file))
	}
	for _, s := range buildcontext.Vain(plan, found.Missing) {
		reads.comments = append(reads.comments, fmt.Sprintf("Line %d takes %s, which %s.", s.Line, s.Path, s.Reason))
	}
	for _, s := range both {
		reads.comments = append(reads.comments, fmt.Sprintf("Line %d takes the %s at the root; there is %s too.", s.Line, s.Path, path.Join(path.Dir(file), s.Path)))
	}
	for _, s := range found.Unknown {
		d.note("%s:%d: %s %s: check that the inputs hold it", file, s.Line, s.Path, s.Reason)
	}
	for _, s := range plan.Remote {
		d.note("%s:%d: %s %s: add --checksum=sha256:…", file, s.Line, s.Path, s.Reason)
	}
	return reads, "", nil
}

// plainID is an id that a recipe can declare.
var plainID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// ids are those of mounts, sorted, each once.
func ids(mounts []dockerfile.Mount) []string {
	var all []string
	for _, m := range mounts {
		all = append(all, m.ID)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// misplaced says what is to be changed in a Dockerfile that was written for another
// context, and what its sources are that lead nowhere; "" if all is well.
func misplaced(file string, content []byte, own *buildcontext.Own, missing []dockerfile.Source) string {
	var said []string
	if own != nil {
		said = append(said, own.Text(file, content))
	}
	for _, s := range missing {
		if !s.Optional && !own.Moves(s) {
			said = append(said, fmt.Sprintf("line %d takes %s, which %s", s.Line, s.Path, s.Reason))
		}
	}
	return strings.Join(said, "; ")
}

// builds says whether a Dockerfile builds the Go program in a folder: it lies
// there, or names the folder behind "go build" or "go install".
func (c *candidate) builds(dir string) bool {
	if c.dir == dir {
		return true
	}
	for line := range strings.Lines(c.dockerfile.content) {
		if !strings.Contains(line, "go build") && !strings.Contains(line, "go install") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			if word = path.Clean(word); word == dir || path.Join(c.dir, word) == dir {
				return dir != "."
			}
		}
	}
	return false
}
