package inputs

import (
	"fmt"
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

// unread finds the patterns that choose inputs of which none is read. where says
// what is read, for the message.
func (k *check) unread(read func(name string) bool, where string) {
	var chosen []string
	for _, name := range k.paths {
		if k.image.Inputs.Match(name) {
			chosen = append(chosen, name)
		}
	}
	for _, pattern := range k.image.Inputs.Strings() {
		if strings.HasPrefix(pattern, "!") {
			continue
		}
		one, files, used := alone(pattern), 0, false
		for _, name := range chosen {
			if one.Match(name) {
				files++
				used = used || read(name)
			}
		}
		if files > 0 && !used {
			k.add(catalogue.Finding{Pattern: pattern, Message: fmt.Sprintf(
				"inputs: of %q (%s) nothing is read by %s, so its changes build the image again for nothing: remove it", pattern, count(files), where)})
		}
	}
}

func count(files int) string {
	if files == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", files)
}
