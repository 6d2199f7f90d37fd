package strictyaml

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// text is a file's content by lines, for what the parser does not say.
type text struct {
	all   string
	lines []string

	// The line that was looked at last, so that many looks at a long line do
	// not take it apart again.
	last  int
	runes []rune
}

func newText(data []byte) *text {
	all := strings.TrimPrefix(string(data), "\ufeff") // a byte order mark would count as a column
	return &text{all: all, lines: strings.Split(strings.TrimSuffix(all, "\n"), "\n")}
}

// unreadable finds the first line with what YAML does not allow or what some
// editors show as a line break and others do not.
func (t *text) unreadable() (line int, message string) {
	for i, s := range t.lines {
		if !utf8.ValidString(s) {
			return i + 1, "is not UTF-8 text"
		}
		for _, r := range strings.TrimSuffix(s, "\r") {
			if r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == '\ufffe' || r == '\uffff') {
				return i + 1, fmt.Sprintf("has the character %U, which cannot stand in YAML", r)
			}
		}
	}
	return 0, ""
}

// find returns the first line with a string, or 0.
func (t *text) find(s string) int {
	for i, line := range t.lines {
		if strings.Contains(line, s) {
			return i + 1
		}
	}
	return 0
}

// at returns the character at a line and column, both from 1, or 0.
func (t *text) at(line, column int) rune {
	if line < 1 || line > len(t.lines) {
		return 0
	}
	if t.last != line {
		t.last, t.runes = line, []rune(t.lines[line-1])
	}
	if column < 1 || column > len(t.runes) {
		return 0
	}
	return t.runes[column-1]
}
