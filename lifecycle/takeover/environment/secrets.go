package environment

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// userinfo is that of a URL with a password, wherever the URL stands.
var userinfo = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@]*:([^\s/?#]+)@`)

// hasPassword says whether a value is, or holds, a URL with a password.
func hasPassword(text string) bool { return userinfo.MatchString(text) }

// secretSet are values that nothing may show.
type secretSet map[string]bool

// add adds a value, and those of its parts that are known to be secret alone: the
// password of a URL, as it is written and decoded, and the lines of a longer text.
func (s secretSet) add(text string) {
	s[text] = true
	for _, found := range userinfo.FindAllStringSubmatch(text, -1) {
		s[found[1]] = true
		if decoded, err := url.PathUnescape(found[1]); err == nil {
			s[decoded] = true
		}
	}
	if trimmed := strings.TrimSpace(text); trimmed != text {
		s[trimmed] = true
	}
	if !strings.Contains(text, "\n") {
		return
	}
	for line := range strings.Lines(text) {
		// What encloses a key in PEM is in everyone's.
		if line = strings.TrimSpace(line); len(line) >= shortestLine && !strings.HasPrefix(line, "-----") {
			s[line] = true
		}
	}
}

// shortestLine is how long a line of a secret has to be, to be one by itself.
const shortestLine = 16

func (s secretSet) list() []hidden {
	var list []hidden
	for _, text := range slices.Sorted(maps.Keys(s)) {
		if text != "" {
			list = append(list, hide(text))
		}
	}
	return list
}
