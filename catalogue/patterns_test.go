package catalogue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func mustPatterns(t testing.TB, list ...string) Patterns {
	t.Helper()
	p, err := ParsePatterns(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns string // separated by spaces
		yes, no  string
	}{
		{"", "", "a a/b"},
		{"a", "a a/b a/b/c", "b ab b/a A"},
		{"a/b", "a/b a/b/c", "a a/c b/a/b"},
		{"*", "a a/b .a a/b/c", ""},
		{"**", "a a/b .a/b", ""},
		{"a/*", "a/b a/b/c", "a b/a"},
		{"a/**", "a/b a/b/c", "a b/a"},
		{"*.md", "x.md .md x.md/y", "a/x.md x.mdx"},
		{"**/*.md", "x.md a/x.md a/b/x.md", "x.go a/x.go"},
		{"**/testdata", "testdata/x a/testdata/x a/b/testdata/c/d testdata", "atestdata/x"},
		{"a/**/b", "a/b a/x/b a/x/y/b/z", "a/x b a"},
		{"a/**/**/b", "a/b a/x/b", "a/x"},
		{"**/a/**/b", "a/b x/a/b x/a/y/b", "b/a"},
		{"a?c", "abc a.c", "ac abbc a/c"},
		{"??", "é ab", "a abc"},
		{"a*c*e", "ace abcde acee", "acd ac"},
		{"[a-c]x", "ax bx cx", "dx Ax x"},
		{"[!a-c]x", "dx", "ax x"},
		{"[^a-c]x", "dx", "ax"},
		{`[\]\-\\]x`, `]x -x \x`, "ax"},
		{"[*?!]", "* ? !", "a"},
		{"a[!b]c", "axc", "a/c abc"},
		{`\*`, "*", "a"},
		{`\!a`, "!a", "a"},
		{`a\[b`, "a[b", "ab"},
		{"{a,b}", "{a,b}", "a b"},
		{"a !a/b", "a/c a/bb", "a/b a/b/c"},
		{"a !a/b a/b/c", "a/x a/b/c a/b/c/d", "a/b/x"},
		{"a !**/*_test.go", "a/x.go", "a/x_test.go a/b/x_test.go"},
		{"!a", "", "a a/b b"},
		{"!a a", "a a/b", "b"},
		{"a !a", "", "a a/b"},
	} {
		p := mustPatterns(t, strings.Fields(c.patterns)...)
		for _, path := range strings.Fields(c.yes) {
			if !p.Match(path) {
				t.Errorf("%q does not match %q", c.patterns, path)
			}
		}
		for _, path := range strings.Fields(c.no) {
			if p.Match(path) {
				t.Errorf("%q matches %q", c.patterns, path)
			}
		}
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns, dir string
		want          Coverage
	}{
		{"", ".", NoneInside},
		{"**", ".", AllInside},
		{"a", ".", LookInside},
		{"a", "a", AllInside},
		{"a", "a/b", AllInside},
		{"a", "b", NoneInside},
		{"a/**", "a", AllInside},
		{"a/*", "a", AllInside},
		{"a/**/*", "a", AllInside},
		{"a/b/*", "a", LookInside},
		{"**/*.md", "a/b", LookInside},
		{"a !a/b", "a", LookInside},
		{"a !a/b", "a/b", NoneInside},
		{"a !a/b", "a/c", AllInside},
		{"a !a/b a/b/c", "a/b", LookInside},
		{"a !a/b a/b/c", "a/b/c", AllInside},
		{"a !a", "a", NoneInside},
		{"!a/b a", "a", AllInside},
		{"!a/b", "a", NoneInside},
		{"a !**/*.md", "a", LookInside},
		{"a !**/*.md", "b", NoneInside},
	} {
		if got := mustPatterns(t, strings.Fields(c.patterns)...).Dir(c.dir); got != c.want {
			t.Errorf("%q at %q: %v, want %v", c.patterns, c.dir, got, c.want)
		}
	}
}

func TestParsePatternsReportsAllErrors(t *testing.T) {
	t.Parallel()
	bad := []string{
		"", "!", "!!a", "/a", "a/", "a//b", ".", "..", "./a", "a/..", `\./a`, "a**", "**.go", "a/**b",
		"[a", "[]", "[!]", "[a/b]", "[z-a]", "[[:alpha:]]", "[a-]", "[-a]", "[é]", `a\`, `a\/b`, "a\x00b",
		strings.Repeat("a/", maxSegments) + "a",
	}
	list := append([]string{"fine"}, bad...)
	_, err := ParsePatterns(list)
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || len(joined.Unwrap()) != len(bad) {
		t.Fatalf("want %d errors, got: %v", len(bad), err)
	}
	for i, err := range joined.Unwrap() {
		e, ok := errors.AsType[*PatternError](err)
		if !ok || e.Index != i+1 || e.Pattern != bad[i] || e.Reason == "" {
			t.Errorf("pattern %d, %q: %#v", i+1, bad[i], err)
		}
	}
}

func TestStringsAreAsWritten(t *testing.T) {
	t.Parallel()
	list := []string{"a/**", `!\*`, "**/**/b"}
	p := mustPatterns(t, list...)
	if got := fmt.Sprint(p.Strings()); got != fmt.Sprint(list) {
		t.Errorf("got %v", got)
	}
	if !p.Equal(mustPatterns(t, list...)) || p.Equal(mustPatterns(t, "a/*", `!\*`, "**/**/b")) {
		t.Error("Equal does not compare the patterns as written")
	}
}

// naiveMatch is the rule of the package comment, word for word and without
// regard for time: the compiled matcher is held against it.
func naiveMatch(list []string, path string) bool {
	chosen := false
	for _, text := range list {
		body, excludes := strings.CutPrefix(text, "!")
		pattern, names := strings.Split(body, "/"), strings.Split(path, "/")
		inside := 0
		if pattern[len(pattern)-1] == "**" { // what is inside, not the thing itself
			pattern = append(pattern[:len(pattern)-1:len(pattern)-1], "*")
		}
		for n := len(names); n > inside; n-- {
			if naiveNames(pattern, names[:n]) {
				chosen = !excludes
			}
		}
	}
	return chosen
}

func naiveNames(pattern, names []string) bool {
	if len(pattern) == 0 {
		return len(names) == 0
	}
	if pattern[0] == "**" {
		for n := 0; n <= len(names); n++ {
			if naiveNames(pattern[1:], names[n:]) {
				return true
			}
		}
		return false
	}
	return len(names) > 0 && naiveName(pattern[0], names[0]) && naiveNames(pattern[1:], names[1:])
}

func naiveName(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	switch pattern[0] {
	case '*':
		for n := 0; n <= len(name); n++ {
			if naiveName(pattern[1:], name[n:]) {
				return true
			}
		}
		return false
	case '?':
		return name != "" && naiveName(pattern[1:], name[1:])
	case '[':
		in, rest := naiveClass(pattern[1:])
		return name != "" && in(name[0]) && naiveName(rest, name[1:])
	case '\\':
		pattern = pattern[1:]
	}
	return name != "" && name[0] == pattern[0] && naiveName(pattern[1:], name[1:])
}

func naiveClass(text string) (in func(byte) bool, rest string) {
	negate := text[0] == '!' || text[0] == '^'
	if negate {
		text = text[1:]
	}
	member := map[byte]bool{}
	one := func() byte {
		if text[0] == '\\' {
			text = text[1:]
		}
		b := text[0]
		text = text[1:]
		return b
	}
	for text[0] != ']' {
		low := one()
		high := low
		if text[0] == '-' {
			text = text[1:]
			high = one()
		}
		for b := 0; b < 256; b++ {
			if byte(b) >= low && byte(b) <= high {
				member[byte(b)] = true
			}
		}
	}
	return func(b byte) bool { return member[b] != negate }, text[1:]
}

var segmentParts = []string{
	"a", "b", "c", "a", "b", "*", "?", "[ab]", "[!a]", "[b-c]", `\*`, ".", "ab",
}

// randomPatterns makes well-formed lists over so small an alphabet that they
// often match, overlap and contradict each other.
func randomPatterns(r *rand.Rand) []string {
	var list []string
	for range r.IntN(6) {
		var segments []string
		for range 1 + r.IntN(4) {
			if r.IntN(4) == 0 {
				segments = append(segments, "**")
				continue
			}
			var b strings.Builder
			for range 1 + r.IntN(2) {
				b.WriteString(segmentParts[r.IntN(len(segmentParts))])
			}
			s := b.String()
			if strings.Contains(s, "**") || s == "." || s == ".." {
				s = "*"
			}
			segments = append(segments, s)
		}
		text := strings.Join(segments, "/")
		if r.IntN(3) == 0 {
			text = "!" + text
		}
		list = append(list, text)
	}
	return list
}

func randomPath(r *rand.Rand) string {
	names := []string{"a", "b", "c", "aa", "ab", "ba", "a.", "*", "abc"}
	var segments []string
	for range 1 + r.IntN(5) {
		segments = append(segments, names[r.IntN(len(names))])
	}
	return strings.Join(segments, "/")
}

func TestMatchIsTheRule(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	chosen, covered := 0, map[Coverage]int{}
	for range 5000 {
		list := randomPatterns(r)
		p := mustPatterns(t, list...)
		dir := randomPath(r)
		coverage := p.Dir(dir)
		covered[coverage]++
		for range 5 {
			for _, path := range []string{randomPath(r), dir + "/" + randomPath(r)} {
				want := naiveMatch(list, path)
				if got := p.Match(path); got != want {
					t.Fatalf("%q, %q: %v, want %v", list, path, got, want)
				}
				if want {
					chosen++
				}
			}
			inside := dir + "/" + randomPath(r)
			if got := naiveMatch(list, inside); coverage == AllInside && !got || coverage == NoneInside && got {
				t.Fatalf("%q at %q: %v, but %q: %v", list, dir, coverage, inside, got)
			}
		}
	}
	if chosen < 3000 || len(covered) != 3 {
		t.Errorf("the lists test little: %d paths chosen, %v", chosen, covered)
	}
}

func FuzzPatterns(f *testing.F) {
	f.Add("a/**\n!**/*_test.go", "a/b", "c")
	f.Add(`[!a-c]?\*`, "dx*", "y")
	f.Add("**/a*b*/**/[x-z]", "a", "b")
	f.Fuzz(func(t *testing.T, text, dir, name string) {
		list := strings.Split(text, "\n")
		p, err := ParsePatterns(list)
		if err != nil {
			if _, ok := errors.AsType[*PatternError](err); !ok {
				t.Fatalf("%q: %v", list, err)
			}
			return
		}
		if len(text) > 60 || len(dir)+len(name) > 30 {
			p.Match(dir + "/" + name)
			p.Dir(dir)
			return // the reference takes exponential time
		}
		for _, path := range []string{dir, name, dir + "/" + name} {
			if got, want := p.Match(path), naiveMatch(list, path); got != want {
				t.Errorf("%q, %q: %v, want %v", list, path, got, want)
			}
		}
		got := p.Match(dir + "/" + name)
		if c := p.Dir(dir); dir != "" && dir != "." && (c == AllInside && !got || c == NoneInside && got) {
			t.Errorf("%q at %q: %v, but %q: %v", list, dir, c, name, got)
		}
	})
}

// A matcher that tries every way to share a name among the stars would not end.
func TestMatchTakesNoExponentialTime(t *testing.T) {
	t.Parallel()
	p := mustPatterns(t,
		strings.Repeat("*a", 200)+"b",
		strings.Repeat("**/a/", 30)+"b",
		strings.Repeat("**/*a*/", 30)+"b",
	)
	if path := strings.Repeat("a", 4000) + strings.Repeat("/a", 2000); p.Match(path) {
		t.Errorf("it matches a path without a b")
	}
	if !p.Match(strings.Repeat("a", 4000) + "b") {
		t.Errorf("it does not match")
	}
}

func BenchmarkMatch(b *testing.B) {
	p := mustPatterns(b, "services/api", "libs", "go.mod", "go.sum", "!**/*_test.go")
	b.ReportAllocs()
	for b.Loop() {
		p.Match("services/api/internal/store/store.go")
	}
}
