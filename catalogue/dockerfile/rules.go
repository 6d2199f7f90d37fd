package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moby/patternmatcher"
)

// rules are patterns with BuildKit's own matcher. What they say of a path is a
// list with an element for each. It is not safe for concurrent use.
type rules struct {
	file string // that they stand in; "" for those of an instruction
	each []rule
	// within are the clean paths that patterns beginning with ! may match
	// something at or below; everywhere says that they may match anywhere.
	within     []string
	everywhere bool
}

// rule is one pattern.
type rule struct {
	// matcher is of this pattern alone, or of ** and this pattern if that begins
	// with !, which takes from what is matched before.
	matcher *patternmatcher.PatternMatcher
	again   bool                     // it begins with !
	above   patternmatcher.MatchInfo // that the directory does not match
	tail    string                   // what every path that it matches ends with
	weight  int                      // its bytes, if it has wildcards
}

// special are the bytes of a pattern that may stand for others than themselves.
const special = `*[]?^\`

// newRules returns nil for no patterns: nothing matches.
func newRules(patterns []string) (*rules, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	if len(patterns) > maxPatterns {
		return nil, fmt.Errorf("has %d patterns, at most %d are read", len(patterns), maxPatterns)
	}
	for _, p := range patterns {
		if len(p) > maxPattern {
			return nil, fmt.Errorf("a pattern has %d bytes, at most %d are read", len(p), maxPattern)
		}
	}
	r := &rules{}
	for _, text := range patterns {
		one, err := patternmatcher.New([]string{text})
		if err != nil {
			return nil, err
		}
		if len(one.Patterns()) == 0 {
			continue // it is blank
		}
		p := one.Patterns()[0]
		made, err := newRule(text, p)
		if err != nil {
			return nil, err
		}
		r.each = append(r.each, made)
		if p.Exclusion() {
			path := filepath.ToSlash(p.String()) // the matcher has it in the machine's form
			path = strings.TrimSuffix(strings.TrimSuffix(path, "/**"), "/*")
			r.within = append(r.within, path)
			r.everywhere = r.everywhere || strings.ContainsAny(path, special)
		}
	}
	return r, nil
}

func newRule(text string, p *patternmatcher.Pattern) (rule, error) {
	patterns, others := []string{text}, []string{"a"}
	if p.Exclusion() {
		patterns, others = []string{"**", text}, []string{"a", "b"}
	}
	r := rule{again: p.Exclusion(), tail: tail(p.String())}
	if literal := strings.TrimPrefix(strings.TrimSuffix(filepath.ToSlash(p.String()), "/**"), "**/"); strings.ContainsAny(literal, special) {
		r.weight = len(p.String())
	}
	var err error
	if r.matcher, err = patternmatcher.New(patterns); err != nil {
		return r, err
	}
	other, err := patternmatcher.New(others)
	if err != nil {
		return r, err
	}
	if _, r.above, err = other.MatchesUsingParentResults("x", r.above); err != nil {
		return r, err
	}
	// A pattern is compiled when it is first used, which may be never.
	_, err = r.match("x")
	return r, err
}

// tail is what all paths end with that a pattern matches: the letters and digits,
// dots, dashes and underscores at its end.
func tail(pattern string) string {
	start := len(pattern)
	for ; start > 0; start-- {
		b := pattern[start-1]
		if b != '.' && b != '-' && b != '_' && (b < '0' || b > '9') && (b < 'A' || b > 'Z') && (b < 'a' || b > 'z') {
			break
		}
	}
	if start > 0 && start < len(pattern) && pattern[start-1] == '\\' {
		start++ // as in \d, a digit for BuildKit
	}
	return pattern[start:]
}

func (r *rule) match(path string) (bool, error) {
	matched, _, err := r.matcher.MatchesUsingParentResults(path, r.above)
	return matched != r.again, err
}

// matches says whether patterns match a path, with what they say of the directory
// it lies in, nil for none. Like BuildKit, it does not look at a pattern that
// could change nothing.
func (r *reading) matches(ctx context.Context, patterns *rules, path string, dir []bool) (matched bool, each []bool, err error) {
	if err := r.step(ctx, len(patterns.each)); err != nil {
		return false, nil, patterns.blamed(err)
	}
	each = make([]bool, len(patterns.each))
	for i := range patterns.each {
		p := &patterns.each[i]
		match := dir != nil && dir[i]
		if !match && p.again == matched && strings.HasSuffix(path, p.tail) {
			if err := r.compare(p.weight, len(path)); err != nil {
				return false, nil, patterns.blamed(err)
			}
			if match, err = p.match(path); err != nil {
				return false, nil, err
			}
		}
		if each[i] = match; match {
			matched = !p.again
		}
	}
	return matched, each, nil
}

// blamed says in the error of a limit which file's patterns have reached it.
func (r *rules) blamed(err error) error {
	if e, ok := errors.AsType[*TooLargeError](err); ok {
		e.Path = r.file
	}
	return err
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
