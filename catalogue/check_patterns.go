package catalogue

import (
	"fmt"
	"strings"
)

// checkPatterns finds patterns without effect in the list of that field.
//
// An excluding pattern with wildcards that matches nothing is no mistake: it
// keeps out what may come.
func checkPatterns(field string, p Patterns, paths []string) []Finding {
	matches, decides := make([]int, len(p.list)), make([]int, len(p.list))
	overridden := make([]int, len(p.list)) // by which pattern, for one of the paths
	for _, path := range paths {
		last := -1
		for i := len(p.list) - 1; i >= 0; i-- {
			if !p.list[i].matches(path) {
				continue
			}
			matches[i]++
			if last < 0 {
				last = i
				decides[i]++
			}
			overridden[i] = last
		}
	}
	var findings []Finding
	for i, pattern := range p.list {
		var message string
		switch {
		case matches[i] == 0 && (!pattern.exclude || pattern.literal()):
			message = fmt.Sprintf("%s: %q matches no file: correct it, or remove it", field, pattern.text)
		case matches[i] > 0 && decides[i] == 0:
			message = fmt.Sprintf("%s: %q has no effect, since %q stands after it and decides: reorder them, or remove one", field, pattern.text, p.list[overridden[i]].text)
		default:
			continue
		}
		findings = append(findings, Finding{Pattern: pattern.text, Message: message})
	}
	return findings
}

// matches says whether the pattern alone matches the file, excluding or not.
func (p *pattern) matches(path string) bool {
	l := live{pattern: p}
	l.enter(0)
	for name := range strings.SplitSeq(path, "/") {
		if l = l.step(name); l.matched {
			return true
		}
		if l.at == 0 {
			return false
		}
	}
	return false
}

func (p *pattern) literal() bool {
	for _, s := range p.segments {
		if s.kind != exactName {
			return false
		}
	}
	return true
}
