package catalogue

import (
	"fmt"
	"strings"
)

// PatternError says why a pattern is not well-formed.
type PatternError struct {
	Index   int    // its place in the list, from 0
	Pattern string // as written
	Reason  string // what is wrong and what to write instead
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("pattern %d, %q: %s", e.Index, e.Pattern, e.Reason)
}

// pattern is one compiled pattern. It matches a path if its segments match the
// path's first segments: what follows lies below a directory that it names.
type pattern struct {
	text     string
	exclude  bool
	segments []segment
	tokens   int // of all segments that are not plain names
}

// maxPattern is how long a pattern may be, in bytes: as long as a path.
const maxPattern = maxPath

// maxSegments is what a cursor's bit set holds.
const maxSegments = 64

// parsePattern compiles a pattern, or returns the reason why it cannot.
func parsePattern(text string) (p pattern, reason string) {
	p.text = text
	body, excludes := strings.CutPrefix(text, "!")
	p.exclude = excludes
	switch {
	case len(body) > maxPattern:
		return p, fmt.Sprintf("it is longer than %d bytes, as no path is", maxPattern)
	case body == "":
		return p, "it is empty; remove it, or write ** for everything"
	case excludes && body[0] == '!':
		return p, `a second "!" has no meaning; write \! for a name that begins with "!"`
	case strings.Contains(body, "\x00"):
		return p, "it holds a NUL byte, which no path does"
	case body[0] == '/':
		return p, "it begins with a slash; patterns start at the root of the tree anyway: remove the slash"
	case strings.HasSuffix(body, "/"):
		return p, "it ends with a slash; a pattern that names a directory means all below it: remove the slash"
	}
	p.segments = make([]segment, 0, 1+strings.Count(body, "/"))
	for part := range strings.SplitSeq(body, "/") {
		s, reason := parseSegment(part)
		if reason != "" {
			return p, reason
		}
		if n := len(p.segments); s.kind == anyDepth && n > 0 && p.segments[n-1].kind == anyDepth {
			continue
		}
		p.segments = append(p.segments, s)
		p.tokens += len(s.tokens)
	}
	// A "**" at the end stands for what is inside, so for at least one segment.
	if last := &p.segments[len(p.segments)-1]; last.kind == anyDepth {
		last.kind = anyName
	}
	if len(p.segments) > maxSegments {
		return p, fmt.Sprintf("it has more than %d segments", maxSegments)
	}
	return p, ""
}

func parseSegment(text string) (s segment, reason string) {
	switch {
	case text == "":
		return s, "it has an empty segment, which no path has: remove the extra slash"
	case text == "*":
		return segment{kind: anyName}, ""
	case text == "**":
		return segment{kind: anyDepth}, ""
	case plain(text):
		return plainName(text)
	case text[0] == '*' && plain(text[1:]):
		return segment{kind: anySuffix, name: text[1:]}, ""
	}
	var tokens []token
	literal := true
	for rest := text; rest != ""; {
		var t token
		switch rest[0] {
		case '*':
			if strings.HasPrefix(rest, "**") {
				return s, "** must be a whole segment, as in **/*.go"
			}
			t, rest, literal = token{kind: anyBytes}, rest[1:], false
		case '?':
			t, rest, literal = token{kind: oneByte}, rest[1:], false
		case '[':
			if t, rest, reason = parseClass(rest); reason != "" {
				return s, reason
			}
			literal = false
		case '\\':
			if len(rest) < 2 {
				return s, `a segment ends with a backslash; write \\ for a backslash`
			}
			t, rest = token{kind: exactByte, b: rest[1]}, rest[2:]
		default:
			t, rest = token{kind: exactByte, b: rest[0]}, rest[1:]
		}
		tokens = append(tokens, t)
	}
	if !literal {
		return segment{kind: glob, tokens: tokens}, ""
	}
	name := make([]byte, len(tokens))
	for i, t := range tokens {
		name[i] = t.b
	}
	return plainName(string(name))
}

// plain says whether a text stands for itself.
func plain(text string) bool { return !strings.ContainsAny(text, `*?[\`) }

func plainName(name string) (s segment, reason string) {
	if name == "." || name == ".." {
		return s, fmt.Sprintf("it has the segment %q; patterns start at the root of the tree and stay in it", name)
	}
	return segment{kind: exactName, name: name}, ""
}

// parseClass compiles the bracket expression that text begins with and returns
// what follows it.
func parseClass(text string) (t token, rest, reason string) {
	t = token{kind: byteClass, class: new(classSet)}
	rest = text[1:]
	if rest != "" && (rest[0] == '!' || rest[0] == '^') {
		t.not, rest = true, rest[1:]
	}
	one := func() (b byte, reason string) {
		if rest == "" {
			return 0, `a "[" is never closed within its segment; write \[ for the character`
		}
		b, rest = rest[0], rest[1:]
		switch {
		case b == '\\' && rest != "":
			b, rest = rest[0], rest[1:]
		case b == '\\', b == '[', b == '-':
			return 0, fmt.Sprintf(`write \%c for the character within brackets`, b)
		}
		if b >= 0x80 {
			return 0, "brackets hold ASCII characters only, since they match one byte"
		}
		return b, ""
	}
	for empty := true; ; empty = false {
		if strings.HasPrefix(rest, "]") {
			if empty {
				return t, rest, `the brackets are empty; write \] for the character "]" within brackets`
			}
			return t, rest[1:], ""
		}
		low, reason := one()
		if reason != "" {
			return t, rest, reason
		}
		high := low
		if strings.HasPrefix(rest, "-") {
			rest = rest[1:]
			if high, reason = one(); reason != "" {
				return t, rest, reason
			}
		}
		if high < low {
			return t, rest, fmt.Sprintf("the range %c-%c is the wrong way round", low, high)
		}
		t.class.add(low, high)
	}
}
