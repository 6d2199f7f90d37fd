package detect

import (
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// deliveryFolders are patterns for the manifests: whole folders where nothing
// else lies in them.
func (d *detection) deliveryFolders() []string {
	mixed := map[string]bool{".": true}
	for _, name := range d.files {
		if d.manifest[name] || strings.HasSuffix(name, ".md") {
			continue
		}
		mark(mixed, name)
	}
	var patterns []string
	for _, name := range d.files {
		if !d.manifest[name] {
			continue
		}
		pattern := literal(name)
		if at := highest(mixed, name); at != name {
			pattern = literal(at) + "/**"
		}
		if !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// neutralPatterns are for files that reach no target; those that choose nothing
// that a later one would not choose are left out. Tests that inputs keep out stay
// even if there are none yet.
func (d *detection) neutralPatterns() []string {
	var kept []string
	chosen := map[string]bool{}
	all := []string{
		"**/*.md", "**/*_test.go", "**/testdata/**", "docs/**", "doc/**", ".*", "LICENSE*", "NOTICE*", "Makefile", "CODEOWNERS",
	}
	for _, pattern := range slices.Backward(all) {
		p, err := catalogue.ParsePatterns([]string{pattern})
		if err != nil {
			continue
		}
		decides, matches := false, false
		for _, name := range d.files {
			if !isOwn(name) && p.Match(name) {
				matches = true
				decides = decides || !chosen[name]
				chosen[name] = true
			}
		}
		expected := !matches && "!"+pattern == noTests && d.goFolder != nil && len(d.images) > 0
		if decides || expected {
			kept = append(kept, pattern)
		}
	}
	slices.Reverse(kept)
	return kept
}
