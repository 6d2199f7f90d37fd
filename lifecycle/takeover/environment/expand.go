package environment

import (
	"strings"
	"unicode/utf8"
)

// expand replaces each reference, "$(NAME)", by what lookup has for the name, as
// the kubelet does (k8s.io/kubernetes/third_party/forked/golang/expansion): a name
// that is not known stays as it is written, and "$$" stands for "$".
func expand(text string, lookup func(name string) (string, bool, error)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		if b.WriteString(before); !found {
			return b.String(), nil
		}
		if b.Len() > longestValue {
			return "", errTooLong
		}
		name, more, isReference := reference(rest)
		switch {
		case isReference:
			value, known, err := lookup(name)
			if err != nil {
				return "", err
			}
			if !known {
				value = "$(" + name + ")"
			}
			if b.WriteString(value); b.Len() > longestValue {
				return "", errTooLong
			}
			text = more
		case rest == "":
			b.WriteByte('$')
			return b.String(), nil
		default:
			r, size := utf8.DecodeRuneInString(rest)
			if b.WriteByte('$'); r != '$' {
				b.WriteRune(r)
			}
			text = rest[size:]
		}
	}
}

// reference reads the name after a "$", if one is referred to.
func reference(rest string) (name, more string, ok bool) {
	inside, ok := strings.CutPrefix(rest, "(")
	if !ok {
		return "", "", false
	}
	return strings.Cut(inside, ")")
}
