//go:build linux || darwin

package portowner

import (
	"strings"
	"unicode"
)

// clean is a program's name for people: whoever started it chose the name.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.TrimSpace(name))
	if name == "" {
		return "a program without a name"
	}
	return name
}
