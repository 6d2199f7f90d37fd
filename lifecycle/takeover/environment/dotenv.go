package environment

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pharos-dev/pharos/catalogue"
)

// Setting is a variable of a .env file. Its value is shown by Value alone.
type Setting struct {
	Name string
	// Line is where it stands, from 1.
	Line  int
	value hidden
}

// Value returns the variable's value.
func (s Setting) Value() string { return s.value.text() }

// ParseDotEnv reads a .env file, in the order of its lines. The name of the file is
// for errors.
//
//	# a comment
//	NAME=value            # blanks around a value do not count, nor does what follows " #"
//	export NAME=value
//	NAME='as it is, $HOME too'
//	NAME="with \n, \r, \t, \", \\ and \$"
//
// A value in quotes may go over several lines. Nothing is expanded: a "$" that other
// programs would expand has to be written in single quotes, or as "\$" in double
// ones. It is stricter than most, so that no line means something else than it seems
// to: a name without "=", a name that is set twice, and anything behind a closing
// quote are errors.
//
// The error is a *catalogue.ProblemsError with all that is wrong. No value is in it.
func ParseDotEnv(name string, data []byte) ([]Setting, error) {
	p := &dotEnv{file: name, rest: strings.ReplaceAll(string(data), "\r\n", "\n"), line: 1, lines: map[string]int{}}
	switch {
	case !utf8.Valid(data):
		p.fail(1, "", "is not UTF-8")
	case strings.HasPrefix(p.rest, "\ufeff"):
		p.fail(1, "", "begins with a byte order mark: save it without")
	case strings.Contains(p.rest, "\x00"):
		p.fail(1+strings.Count(p.rest[:strings.IndexByte(p.rest, 0)], "\n"), "", "has a zero byte")
	default:
		for p.rest != "" {
			p.next()
		}
	}
	if len(p.problems) > 0 {
		return nil, &catalogue.ProblemsError{List: p.problems}
	}
	return p.settings, nil
}

// dotEnv reads a .env file.
type dotEnv struct {
	file     string
	rest     string
	line     int
	lines    map[string]int // of the names
	settings []Setting
	problems []*catalogue.Problem
}

func (p *dotEnv) fail(line int, name, format string, args ...any) {
	p.problems = append(p.problems, &catalogue.Problem{File: p.file, Line: line, Field: name, Message: fmt.Sprintf(format, args...)})
}

// takeLine takes the rest of a line.
func (p *dotEnv) takeLine() string {
	line, rest, _ := strings.Cut(p.rest, "\n")
	p.rest = rest
	p.line++
	return line
}

// next reads one line, or what goes over several.
func (p *dotEnv) next() {
	line, _, _ := strings.Cut(p.rest, "\n")
	before, _, isSetting := strings.Cut(line, "=")
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "" || trimmed[0] == '#':
		p.takeLine()
		return
	case !isSetting:
		p.fail(p.line, "", "is neither NAME=value, a comment nor empty")
		p.takeLine()
		return
	}
	p.rest = p.rest[len(before)+len("="):]
	name := strings.TrimSpace(before)
	if after, ok := strings.CutPrefix(name, "export "); ok {
		name = strings.TrimLeft(after, " \t")
	}
	at := p.line
	if !isName(name) {
		// What stands there may be a part of a value.
		p.fail(at, "", "does not begin with the name of a variable: letters, digits and _, and no digit first")
		p.takeLine()
		return
	}
	value, ok := p.value(name)
	if !ok {
		return
	}
	if first := p.lines[name]; first > 0 {
		p.fail(at, name, "is set twice: in line %d first", first)
		return
	}
	p.lines[name] = at
	p.settings = append(p.settings, Setting{Name: name, Line: at, value: hide(value)})
}

func isName(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) || i == 0 && '0' <= s[i] && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}

// value reads what follows "=".
func (p *dotEnv) value(name string) (string, bool) {
	p.rest = strings.TrimLeft(p.rest, " \t")
	switch {
	case strings.HasPrefix(p.rest, "'"):
		return p.quoted(name, '\'')
	case strings.HasPrefix(p.rest, `"`):
		return p.quoted(name, '"')
	}
	at := p.line
	text := p.takeLine()
	for i := range len(text) {
		if text[i] == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t') {
			text = text[:i]
			break
		}
	}
	text = strings.TrimRight(text, " \t")
	if expands(text) {
		p.fail(at, name, "has a $ that other programs expand, and here nothing is: put the value in single quotes")
		return "", false
	}
	return text, true
}

// expands says whether a text has a reference to a variable or a command, as a shell
// knows them.
func expands(text string) bool {
	for {
		_, after, ok := strings.Cut(text, "$")
		if !ok {
			return false
		}
		if after != "" && (after[0] == '{' || after[0] == '(' || isWord(after[0]) && (after[0] < '0' || after[0] > '9')) {
			return true
		}
		text = after
	}
}

// escapes are what may follow "\" in double quotes.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '$': '$'}

// quoted reads a value in quotes, and the rest of the line it ends in.
func (p *dotEnv) quoted(name string, quote byte) (string, bool) {
	at, ok := p.line, true
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote:
			end := p.line + strings.Count(p.rest[:i], "\n")
			p.rest, p.line = p.rest[i+1:], end
			if behind := strings.TrimSpace(p.takeLine()); behind != "" && behind[0] != '#' {
				p.fail(end, name, "has something behind the closing quote")
				ok = false
			}
			return b.String(), ok
		case c == '\\' && quote == '"':
			i++
			if i == len(p.rest) {
				continue
			}
			by, known := escapes[p.rest[i]]
			if !known {
				p.fail(p.line+strings.Count(p.rest[:i], "\n"), name, `has a \ that is followed by none of n, r, t, ", \ and $: write \\ for one`)
				ok = false
			}
			b.WriteByte(by)
		case c == '$' && quote == '"' && expands(p.rest[i:min(i+2, len(p.rest))]):
			p.fail(p.line+strings.Count(p.rest[:i], "\n"), name, `has a $ that other programs expand, and here nothing is: write \$, or use single quotes`)
			ok = false
		default:
			b.WriteByte(c)
		}
	}
	p.fail(at, name, "has no closing quote")
	p.rest = ""
	return "", false
}
