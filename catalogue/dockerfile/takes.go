package dockerfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/util/system"
)

// take is what an instruction takes from the build context.
type take struct {
	line int
	path string // as written, with arguments expanded
	root string // clean, from the root of the context, "" for the root itself
	// include are the patterns of what is taken below root, relative to it; nil
	// means everything.
	include []string
	exclude []string
	// optional says that the build goes on without it.
	optional bool
	// literal says that wildcards mean nothing.
	literal bool
}

// copy notes what COPY or ADD takes from the context. Arguments in --exclude are
// not expanded.
func (p *planner) copy(line int, sources, exclude []string, parents bool, env environment) error {
	if err := p.checkPatterns(exclude); err != nil {
		return fmt.Errorf("--exclude: %w", err)
	}
	for _, source := range sources {
		e, err := p.expand(source, env)
		if err != nil {
			return err
		}
		if e.unknown != "" {
			p.plan.unknown = append(p.plan.unknown, Source{Line: line, Path: source, Reason: e.unknown})
			continue
		}
		if parseRemote(e.value) != nil {
			return fmt.Errorf("%s lies elsewhere: only ADD can fetch it", e.value)
		}
		if err := p.take(line, e.value, exclude, parents); err != nil {
			return err
		}
	}
	return nil
}

// checkPatterns refuses patterns that are not well-formed, or more than are read.
func (p *planner) checkPatterns(patterns []string) error {
	for _, pattern := range patterns {
		p.patterns += len(pattern)
	}
	if p.patterns > maxIgnore {
		return fmt.Errorf("the patterns up to here have %d bytes, at most %d are read", p.patterns, maxIgnore)
	}
	_, err := newRules(patterns)
	return err
}

func (p *planner) take(line int, source string, exclude []string, parents bool) error {
	t := take{line: line, path: source, root: source, exclude: exclude, optional: hasWildcards(source)}
	if parents {
		// What stands before /./ is not kept in the image.
		root, pattern, pivot := strings.Cut(source, "/./")
		if !pivot {
			root, pattern = "/", source
		}
		pattern, err := system.NormalizePath("/", pattern, p.plan.os, false)
		if err != nil {
			return err
		}
		t.root, t.include = root, []string{strings.TrimPrefix(pattern, "/")}
		if err := p.checkPatterns(t.include); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	root, err := system.NormalizePath("/", t.root, p.plan.os, false)
	t.root = clean(root)
	p.plan.takes = append(p.plan.takes, t)
	return err
}

// add notes what ADD takes from the context, and what it fetches.
func (p *planner) add(line int, c *instructions.AddCommand, env environment) error {
	checksum, err := p.expand(c.Checksum, env)
	if err != nil {
		return err
	}
	var local []string
	for _, source := range c.SourcePaths {
		e, err := p.expand(source, env)
		if err != nil {
			return err
		}
		r := parseRemote(e.value)
		switch {
		case e.unknown != "" || r == nil:
			local = append(local, source)
		case checksum.unknown != "":
			p.plan.Remote = append(p.plan.Remote, Source{Line: line, Path: e.value, Reason: "its checksum " + checksum.unknown})
		case checksum.value == "" && !r.pinned:
			p.plan.Remote = append(p.plan.Remote, Source{Line: line, Path: e.value, Reason: "is fetched, and no checksum says what it must be"})
		}
	}
	return p.copy(line, local, c.ExcludePatterns, false, env)
}

// mounts notes what RUN mounts from the context: of a bind mount, everything
// below its source.
func (p *planner) mounts(line int, c *instructions.RunCommand, env environment) error {
	unknown := map[string]string{} // reasons by the words that are not known
	err := c.Expand(func(word string) (string, error) {
		e, err := p.expand(word, env)
		if e.unknown != "" {
			unknown[word] = e.unknown
			return word, nil
		}
		return e.value, err
	})
	if err != nil && len(unknown) == 0 {
		return fmt.Errorf("--mount: %s", firstOf(err))
	}
	if err != nil {
		for _, word := range slices.Sorted(maps.Keys(unknown)) {
			p.plan.unknown = append(p.plan.unknown, Source{Line: line, Path: word, Reason: unknown[word]})
		}
		p.plan.unknownMounts = true
		return nil
	}
	for _, m := range instructions.GetMounts(c) {
		switch {
		case m.Type == instructions.MountTypeSecret:
			p.mount(&p.plan.Secrets, line, secretID(m), unknown)
			continue
		case m.Type == instructions.MountTypeSSH:
			p.mount(&p.plan.SSH, line, cmp.Or(m.Source, m.CacheID, defaultAgent), unknown)
			continue
		case m.From != "" || m.Type != instructions.MountTypeBind:
			continue
		}
		if reason, ok := unknown[m.Source]; ok {
			p.plan.unknown = append(p.plan.unknown, Source{Line: line, Path: m.Source, Reason: reason})
			continue
		}
		p.plan.takes = append(p.plan.takes, take{line: line, path: m.Source, root: clean(m.Source), literal: true})
	}
	return nil
}
