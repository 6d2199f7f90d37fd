package argo

import (
	"regexp"
	"strings"
)

// glob matches as Argo CD documents it: * is any text and ? any character, but for
// the separators, which ** matches too; [a-z] [!a-z] {one,other} and \ are known
// beside it. A pattern of another form matches nothing. Argo CD's own matcher ends
// its program at some of those, and takes a few others in ways of its own: "?" for
// nothing at all.
func glob(pattern, name, separators string) bool {
	one := "."
	if separators != "" {
		one = "[^" + regexp.QuoteMeta(separators) + "]"
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	class, braces := false, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case class:
			class = c != ']'
			if c == '!' && pattern[i-1] == '[' {
				c = '^'
			}
			b.WriteByte(c)
		case c == '[':
			class = true
			b.WriteByte(c)
		case strings.HasPrefix(pattern[i:], "**"):
			i++
			b.WriteString(".*")
		case c == '*':
			b.WriteString(one + "*")
		case c == '?':
			b.WriteString(one)
		case c == '{':
			braces++
			b.WriteString("(?:")
		case c == '}' && braces > 0:
			braces--
			b.WriteString(")")
		case c == ',' && braces > 0:
			b.WriteString("|")
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	return err == nil && re.MatchString(name)
}
