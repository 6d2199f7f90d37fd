package detect

import (
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// ignorePatterns are inputs for a Dockerfile that takes the whole tree in the terms
// of its ignore rules, so that they hold for files to come; not ok if they do not
// choose what it reads.
func (d *detection) ignorePatterns(c *candidate, read map[string]bool, delivery []string) (patterns []string, ok bool) {
	list := []string{"**"}
	for line := range strings.Lines(c.dockerfile.ignore) {
		line = strings.TrimSpace(line)
		rule, again := strings.CutPrefix(line, "!")
		rule = path.Clean(strings.TrimLeft(strings.TrimSpace(rule), "/"))
		switch {
		case line == "" || line[0] == '#' || rule == ".":
		case again:
			list = append(list, rule)
		default:
			list = append(list, "!"+rule)
		}
	}
	list = append(list, "!"+ownFiles)
	for _, pattern := range delivery {
		list = append(list, "!"+pattern)
	}
	list, err := d.withoutIdle(list)
	if err != nil {
		return nil, false
	}
	chosen, err := catalogue.ParsePatterns(list)
	if err != nil {
		return nil, false
	}
	kept, err := catalogue.ParsePatterns(append([]string{ownFiles}, delivery...))
	if err != nil {
		return nil, false
	}
	for _, name := range d.files {
		if chosen.Match(name) != (read[name] && !kept.Match(name)) {
			return nil, false
		}
	}
	return list, true
}

// withoutIdle leaves out the patterns that decide of no file, unless they are there
// to keep out what may come.
func (d *detection) withoutIdle(list []string) ([]string, error) {
	each := make([]catalogue.Patterns, len(list))
	for i, pattern := range list {
		var err error
		if each[i], err = catalogue.ParsePatterns([]string{strings.TrimPrefix(pattern, "!")}); err != nil {
			return nil, err
		}
	}
	matches, decides := make([]bool, len(list)), make([]bool, len(list))
	for _, name := range d.files {
		last := -1
		for i := range each {
			if each[i].Match(name) {
				matches[i], last = true, i
			}
		}
		if last >= 0 {
			decides[last] = true
		}
	}
	var kept []string
	for i, pattern := range list {
		forLater := !matches[i] && pattern[0] == '!' && strings.ContainsAny(pattern, "*?[")
		if decides[i] || forLater {
			kept = append(kept, pattern)
		}
	}
	return kept, nil
}
