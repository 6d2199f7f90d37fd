package catalogue

import (
	"errors"
	"slices"
	"strings"
)

// Patterns is a list of patterns that chooses files of a tree. The package
// comment gives the rule. The zero value chooses nothing. Patterns are never
// changed once parsed and are safe for concurrent use.
type Patterns struct{ list []pattern }

// Coverage says what a list of patterns chooses of a directory's files.
type Coverage int

// The values of Coverage. Only LookInside may be returned although one of the
// others holds; AllInside and NoneInside are never wrong.
const (
	NoneInside Coverage = iota // no file below the directory is chosen, whatever its name
	AllInside                  // every file below the directory is chosen, whatever its name
	LookInside                 // it depends on the file
)

func (c Coverage) String() string {
	switch c {
	case AllInside:
		return "all inside"
	case NoneInside:
		return "none inside"
	default:
		return "look inside"
	}
}

// ParsePatterns compiles a list of patterns as they are written in pharos.yaml.
// The error holds a *PatternError for every pattern that is not well-formed,
// all of them joined.
func ParsePatterns(list []string) (Patterns, error) {
	p := Patterns{list: make([]pattern, 0, len(list))}
	var errs []error
	for i, text := range list {
		compiled, reason := parsePattern(text)
		if reason != "" {
			errs = append(errs, &PatternError{Index: i, Pattern: text, Reason: reason})
			continue
		}
		p.list = append(p.list, compiled)
	}
	if len(errs) > 0 {
		return Patterns{}, errors.Join(errs...)
	}
	return p, nil
}

// Strings returns the patterns as they were written, in order.
func (p Patterns) Strings() []string {
	out := make([]string, len(p.list))
	for i := range p.list {
		out[i] = p.list[i].text
	}
	return out
}

// Equal says whether both lists hold the same patterns in the same order.
func (p Patterns) Equal(q Patterns) bool { return slices.Equal(p.Strings(), q.Strings()) }

// Match says whether the file at path is chosen. The path is relative to the
// root of the tree, its segments separated by slashes.
func (p Patterns) Match(path string) bool {
	c := p.root()
	for {
		name, rest, more := strings.Cut(path, "/")
		if !more {
			return c.file(name)
		}
		c = c.child(name)
		if len(c) == 0 {
			return false
		}
		path = rest
	}
}

// Dir says what is chosen of the files below the directory at path; "." is the
// root of the tree. It lets a walk skip a subtree, or take it as a whole.
func (p Patterns) Dir(path string) Coverage { return p.root().below(path).coverage() }

// below returns the cursor for the directory at path.
func (c cursor) below(path string) cursor {
	if path != "." && path != "" {
		for name := range strings.SplitSeq(path, "/") {
			c = c.child(name)
		}
	}
	return c
}
