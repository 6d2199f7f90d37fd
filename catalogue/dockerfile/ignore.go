package dockerfile

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// rules are patterns with BuildKit's own matcher. It is not safe for concurrent
// use.
type rules struct {
	*patternmatcher.PatternMatcher
	// within are the clean paths that patterns beginning with ! may match
	// something at or below; everywhere says that they may match anywhere.
	within     []string
	everywhere bool
}

// newRules returns nil for no patterns: nothing matches.
func newRules(patterns []string) (*rules, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	if len(patterns) > maxPatterns {
		return nil, fmt.Errorf("has %d patterns, at most %d are read", len(patterns), maxPatterns)
	}
	m, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, err
	}
	r := &rules{PatternMatcher: m}
	for _, p := range m.Patterns() {
		// A pattern is compiled when it is first used, which may be never.
		if _, err := patternmatcher.MatchesOrParentMatches("x", []string{p.String()}); err != nil {
			return nil, err
		}
		if p.Exclusion() {
			path := filepath.ToSlash(p.String()) // the matcher has it in the machine's form
			path = strings.TrimSuffix(strings.TrimSuffix(path, "/**"), "/*")
			r.within = append(r.within, path)
			r.everywhere = r.everywhere || strings.ContainsAny(path, `*[]?^\`)
		}
	}
	return r, nil
}

// reopens says whether a pattern beginning with ! may match something below a
// directory that is matched itself.
func (r *rules) reopens(dir string) bool {
	if r.everywhere {
		return true
	}
	for _, p := range r.within {
		if strings.HasPrefix(p+"/", dir+"/") {
			return true
		}
	}
	return false
}

// readIgnore finds the ignore rules of a tree that is not filtered yet: those of
// the Dockerfile's own file if there is one, else those of the root.
func (c *buildContext) readIgnore(ctx context.Context, dockerfile string) (*rules, error) {
	for _, name := range []string{dockerfile + ".dockerignore", ".dockerignore"} {
		n, err := c.resolve(ctx, clean(name))
		if err != nil {
			return nil, err
		}
		if n == nil || !n.mode.IsFile() {
			continue
		}
		c.take(n)
		content, err := c.tree.ReadFile(ctx, n.path)
		if err != nil {
			return nil, err
		}
		return parseIgnore(n.path, content)
	}
	return nil, nil
}

func parseIgnore(name string, content []byte) (*rules, error) {
	patterns, err := ignorefile.ReadAll(bytes.NewReader(content))
	if err != nil {
		return nil, &ParseError{Path: name, Reason: err.Error()}
	}
	r, err := newRules(patterns)
	if err == nil {
		return r, nil
	}
	for i, line := range bytes.Split(content, []byte("\n")) {
		one, err := ignorefile.ReadAll(bytes.NewReader(line))
		if err == nil {
			_, err = newRules(one)
		}
		if err != nil {
			return nil, &ParseError{Path: name, Line: i + 1, Reason: "is no valid pattern: " + err.Error()}
		}
	}
	return nil, &ParseError{Path: name, Reason: err.Error()}
}
