package catalogue

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// patternCheck looks for patterns of a list without effect.
type patternCheck struct {
	source.Tree
	uses []patternUse // of each pattern
	// at holds the patterns at the directories on the way, one list behind the
	// other.
	at []aimed
}

// aimed is a pattern at one directory, and its place in the list. Unlike a
// cursor, a list of them holds every pattern that may match something,
// overruled or not.
type aimed struct {
	live
	index int
}

// patternUse is what is known of a pattern.
type patternUse struct {
	matches bool // some file
	decides bool // of some file whether it is chosen: there is no more to learn
	by      int  // the pattern that decides instead, for one of the files
}

// checkPatterns finds patterns without effect in the list of that field. Where
// silent says so of a pattern, it may match nothing.
func checkPatterns(ctx context.Context, tree source.Tree, field string, p Patterns, silent func(*pattern) bool) ([]Finding, error) {
	check := patternCheck{Tree: tree, uses: make([]patternUse, len(p.list))}
	var all []aimed
	for i, l := range p.root() {
		all = append(all, aimed{l, i})
	}
	if err := check.dir(ctx, tree.ID, all); err != nil {
		return nil, err
	}
	var findings []Finding
	for i, use := range check.uses {
		pattern := &p.list[i]
		var message string
		switch {
		case !use.matches && !silent(pattern):
			message = fmt.Sprintf("%s: %q matches no file: correct it, or remove it", field, pattern.text)
		case use.matches && !use.decides:
			message = fmt.Sprintf("%s: %q has no effect, since %q stands after it and decides: reorder them, or remove one", field, pattern.text, p.list[use.by].text)
		default:
			continue
		}
		findings = append(findings, Finding{Pattern: pattern.text, Message: message})
	}
	return findings, nil
}

// keepsOut says whether the pattern may match nothing: one that excludes by
// wildcards keeps out what may come.
func keepsOut(p *pattern) bool { return p.exclude && !p.literal() }

// dir looks at the directory of that ID.
func (c *patternCheck) dir(ctx context.Context, id source.ID, at []aimed) error {
	entries, err := c.Objects.Tree(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		start := len(c.at)
		pending := false
		for _, l := range at {
			next := l.step(e.Name)
			if next.matched || next.at != 0 && e.Mode == source.ModeDir {
				c.at = append(c.at, aimed{next, l.index})
				pending = pending || !next.matched
			}
		}
		err := c.entry(ctx, e, c.at[start:], pending)
		c.at = c.at[:start]
		if err != nil {
			return err
		}
	}
	return nil
}

// entry looks at an entry, at which the patterns stand like that. If none of them
// is pending, each matches all that is inside.
func (c *patternCheck) entry(ctx context.Context, e source.Entry, at []aimed, pending bool) error {
	switch {
	case len(at) == 0:
		return nil
	case e.Mode != source.ModeDir:
		c.note(at)
		return nil
	case !c.worthwhile(at):
		return nil
	case pending:
		return c.dir(ctx, e.ID, at)
	}
	some, err := holdsFile(ctx, c.Tree, e.ID)
	if some {
		c.note(at)
	}
	return err
}

// worthwhile says whether there is something to learn from files that the
// patterns may match. Of one that keeps out what may come, that is only whether
// a later one overrides it.
func (c *patternCheck) worthwhile(at []aimed) bool {
	open, counts := false, false
	for i, l := range at {
		out := keepsOut(l.pattern)
		open = open || !c.uses[l.index].decides && !(out && i == len(at)-1)
		counts = counts || !out
	}
	return open && counts
}

// note takes down that there is a file that all of them match.
func (c *patternCheck) note(matched []aimed) {
	last := matched[len(matched)-1].index
	c.uses[last].decides = true
	for _, l := range matched {
		c.uses[l.index].matches = true
		c.uses[l.index].by = last
	}
}

// holdsFile says whether there is a file below a directory.
func holdsFile(ctx context.Context, tree source.Tree, id source.ID) (bool, error) {
	errFound := errors.New("found")
	err := source.Tree{ID: id, Objects: tree.Objects}.Walk(ctx, func(_ string, e source.Entry) error {
		if e.Mode != source.ModeDir {
			return errFound
		}
		return nil
	})
	if err == errFound {
		return true, nil
	}
	return false, err
}

func (p *pattern) literal() bool {
	for _, s := range p.segments {
		if s.kind != exactName {
			return false
		}
	}
	return true
}
