package environment

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// userinfo is that of a URL with a password, wherever the URL stands.
var userinfo = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@]*:([^\s/?#]+)@`)

// hasPassword says whether a value is, or holds, a URL with a password.
func hasPassword(text string) bool { return userinfo.MatchString(text) }

// isSecret says whether nothing may show a variable's value.
func isSecret(name string, v value) bool {
	return v.secret || catalogue.SecretName(name) || hasPassword(v.text)
}

// secretSet are values that nothing may show.
type secretSet map[string]bool

// add adds a value, and those of its parts that are known to be secret alone: the
// password of a URL, as it is written and decoded; what a text of JSON, or lines of
// names and values, have under the name of a secret; and the lines of a longer text.
func (s secretSet) add(text string) {
	s[text] = true
	s[strings.TrimSpace(text)] = true
	for _, found := range userinfo.FindAllStringSubmatch(text, -1) {
		s[found[1]] = true
		if decoded, err := url.PathUnescape(found[1]); err == nil {
			s[decoded] = true
		}
	}
	var document any
	if strings.HasPrefix(strings.TrimSpace(text), "{") && json.Unmarshal([]byte(text), &document) == nil {
		s.addNamed("", document)
		return
	}
	if !strings.Contains(text, "\n") {
		return
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		// What encloses a key in PEM is in everyone's.
		if len(line) >= shortestLine && !strings.HasPrefix(line, "-----") {
			s[line] = true
		}
		if name, value, ok := cutSetting(line); ok && isSecretKey(name) {
			s[value] = true
		}
	}
}

// addNamed adds what a value of JSON has under the names of secrets.
func (s secretSet) addNamed(name string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inside := range value {
			s.addNamed(key, inside)
		}
	case []any:
		for _, inside := range value {
			s.addNamed(name, inside)
		}
	case string:
		if isSecretKey(name) {
			s.add(value)
		}
	}
}

// cutSetting takes "name=value" or "name: value" apart.
func cutSetting(line string) (name, value string, ok bool) {
	at := strings.IndexAny(line, "=:")
	if at < 0 {
		return "", "", false
	}
	return strings.TrimSpace(line[:at]), strings.Trim(strings.TrimSpace(line[at+1:]), `"'`), true
}

// isSecretKey says whether a key of a file is a secret's: "spring.datasource.password".
func isSecretKey(name string) bool {
	return catalogue.SecretName(strings.NewReplacer(".", "_", "-", "_", " ", "_").Replace(name))
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
