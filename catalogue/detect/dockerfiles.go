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
	"github.com/pharos-dev/pharos/catalogue/source"
)

// dockerfileReads is what a Dockerfile takes from its context.
type dockerfileReads struct {
	content string
	files   []string
	whole   bool // it takes whatever lies at the root
}

// dockerfiles finds the Dockerfiles that can be built with the root of the tree
// as their context.
func (d *detection) dockerfiles(ctx context.Context) error {
	for _, file := range d.seen {
		if !isDockerfile(path.Base(file)) {
			continue
		}
		reads, problem, err := d.readDockerfile(ctx, file)
		if err != nil {
			return err
		}
		if problem != "" {
			d.note("%s makes no image yet: %s", file, problem)
			continue
		}
		d.candidates = append(d.candidates, &candidate{
			kind: catalogue.BuildDockerfile, path: file, dir: path.Dir(file), dockerfile: reads,
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
	plan, err := planOf(file, content)
	if err != nil {
		return nil, err.Error(), nil
	}
	found, err := plan.Reads(ctx, d.withOwn)
	if ignore, ok := errors.AsType[*dockerfile.ParseError](err); ok {
		return nil, ignore.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	if missing := required(found.Missing); len(missing) > 0 {
		problem, err := d.misplaced(ctx, file, content, missing)
		return nil, problem, err
	}
	for _, s := range found.Unknown {
		d.note("%s:%d: %s %s: check that the inputs hold it", file, s.Line, s.Path, s.Reason)
	}
	for _, s := range plan.Remote {
		d.note("%s:%d: %s %s: add --checksum=sha256:…", file, s.Line, s.Path, s.Reason)
	}
	whole := slices.Contains(found.Files, catalogue.FileName)
	return &dockerfileReads{content: string(content), files: found.Files, whole: whole}, "", nil
}

func planOf(file string, content []byte) (*dockerfile.Plan, error) {
	parsed, err := dockerfile.Parse(file, content)
	if err != nil {
		return nil, err
	}
	return parsed.Plan(dockerfile.Options{Platform: catalogue.DefaultPlatform})
}

// required leaves out what a build goes on without.
func required(missing []dockerfile.Source) []dockerfile.Source {
	var needed []dockerfile.Source
	for _, s := range missing {
		if !s.Optional {
			needed = append(needed, s)
		}
	}
	return needed
}

// misplaced says what is wrong with a Dockerfile whose sources are not where it
// looks for them: most often its context was its own folder.
func (d *detection) misplaced(ctx context.Context, file string, content []byte, missing []dockerfile.Source) (string, error) {
	first := missing[0]
	plain := fmt.Sprintf("line %d takes %s, which %s", first.Line, first.Path, first.Reason)
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		entry, err := d.tree.Lookup(ctx, dir)
		if err != nil {
			return "", err
		}
		plan, err := planOf(strings.TrimPrefix(file, dir+"/"), content)
		if err != nil {
			return plain, nil
		}
		reads, err := plan.Reads(ctx, source.Tree{ID: entry.ID, Objects: d.tree.Objects})
		if _, ok := errors.AsType[*dockerfile.ParseError](err); ok {
			return plain, nil
		}
		if err != nil {
			return "", err
		}
		if len(required(reads.Missing)) == 0 {
			return fmt.Sprintf("it is written for a build in the folder %[1]s, and the context is the root of the tree: write %[2]s instead of %[3]s in line %[4]d, and so on",
				dir, path.Join(dir, first.Path), first.Path, first.Line), nil
		}
	}
	return plain, nil
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
