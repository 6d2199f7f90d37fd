package dockerfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/moby/patternmatcher/ignorefile"

	"github.com/pharos-dev/pharos/catalogue/source"
)

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
		if errors.Is(err, source.ErrTooLarge) {
			return nil, &ParseError{Path: n.path, Reason: fmt.Sprintf("has more than %d bytes, at most %d are read", source.MaxFile, maxIgnore)}
		}
		if err != nil {
			return nil, err
		}
		r, err := parseIgnore(n.path, content)
		if r != nil {
			r.file = n.path
		}
		return r, err
	}
	return nil, nil
}

func parseIgnore(name string, content []byte) (*rules, error) {
	if len(content) > maxIgnore {
		return nil, &ParseError{Path: name, Reason: fmt.Sprintf("has %d bytes, at most %d are read", len(content), maxIgnore)}
	}
	patterns, err := ignorefile.ReadAll(bytes.NewReader(content))
	if err != nil {
		return nil, &ParseError{Path: name, Reason: err.Error()}
	}
	r, err := newRules(patterns)
	if err == nil {
		return r, nil
	}
	if len(patterns) > maxPatterns {
		return nil, &ParseError{Path: name, Reason: err.Error()} // no line is to blame
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
