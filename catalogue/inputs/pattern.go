package inputs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// Literal returns the pattern that chooses the file at a path, or all below the
// folder at it, and nothing else.
func Literal(path string) string { return literal.Replace(path) }

var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "!", `\!`)

// excludedBy returns the pattern with "!" that keeps a file out of the inputs.
func excludedBy(inputs catalogue.Patterns, name string) (pattern string, ok bool) {
	list := inputs.Strings()
	for i := len(list) - 1; i >= 0; i-- {
		body, excludes := strings.CutPrefix(list[i], "!")
		if alone(body).Match(name) {
			return list[i], excludes
		}
	}
	return "", false
}

// alone is a list of one pattern, which is known to be well-formed.
func alone(pattern string) catalogue.Patterns {
	p, err := catalogue.ParsePatterns([]string{pattern})
	if err != nil {
		return catalogue.Patterns{}
	}
	return p
}

// unread finds the patterns that choose inputs of which none is read. reader says
// what reads, for the message.
func (k *check) unread(read []string, reader string) {
	for _, pattern := range k.image.Inputs.Strings() {
		if strings.HasPrefix(pattern, "!") {
			continue
		}
		one := alone(pattern)
		chosen := func(name string) bool { return one.Match(name) && k.image.Inputs.Match(name) }
		if slices.ContainsFunc(read, chosen) {
			continue
		}
		files := 0
		for _, name := range k.paths {
			if chosen(name) {
				files++
			}
		}
		if files > 0 {
			k.add(catalogue.Finding{Pattern: pattern, Message: fmt.Sprintf(
				"inputs: of %q (%s) nothing is read by %s, so its changes build the image again for nothing: remove it", pattern, count(files), reader)})
		}
	}
}

func count(files int) string {
	if files == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", files)
}
