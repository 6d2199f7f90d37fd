package strictyaml

import (
	"errors"
	"strings"
	"testing"
)

// problems parses a file and returns all that is wrong with it, a problem on
// each line.
func problems(t *testing.T, in string, read func(Node)) string {
	t.Helper()
	docs, err := Parse("f", []byte(in))
	errs := []error{err}
	for _, d := range docs {
		read(d.Root())
		errs = append(errs, d.Err())
	}
	err = Join(errs...)
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*Errors](err); !ok {
		t.Fatalf("the error is a %T, want *Errors", err)
	}
	return err.Error()
}

func nothing(Node) {}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const quotesAlias = "put a value that begins with * in quotes: YAML takes *x for an alias"
	for _, tt := range []struct{ name, in, want string }{
		{"open flow sequence", "a: 1\nb: [1\nc: 2\n", "f:2: did not find expected ',' or ']'"},
		{"open flow sequence at the top", "[", "f:1: did not find expected node content"},
		{"item beside keys", "- a\nb: 1\n", "f:2: did not find expected '-' indicator"},
		{"mapping in a value", "a: b: c\n", "f:1: mapping values are not allowed in this context"},
		{"tab", "a: 1\n\tb: 2\n", "f:2: found a tab character that violates indentation"},
		{"pattern of stars", "a:\n- **/*.md\n", "f:2: did not find expected alphabetic or numeric character; put a value that begins with * or & in quotes"},
		{"unknown alias", "a: 1\nb:\n- *x\n", "f:3: " + quotesAlias},
		{"not UTF-8", "a: 1\nb: \xff\n", "f:2: is not UTF-8 text"},
		{"NUL", "a: 'x\x00'\n", "f:1: has the character U+0000, which cannot stand in YAML"},
		{"line separator", "a: x\nb: \u2028x\n", "f:2: has the character U+2028, which cannot stand in YAML"},
		{"second byte order mark", "\ufeff\ufeffa: x\n", "f:1: has the character U+FEFF, which cannot stand in YAML"},
		{"too large", strings.Repeat("#", MaxSize+1), "f: is larger than 1048576 bytes"},
		{"known alias", "a: &x 1\nb: *x\n", "" +
			"f:1:4: a: has an anchor, and anchors are not supported: leave &x out, or put the value in quotes if it is meant to begin with &\n" +
			"f:2:4: b: is an alias, and aliases are not supported: write the value out, or put it in quotes if it is meant to begin with *"},
		{"tag", "a:\n- !docs/**\n", "f:2:3: a[0]: has a tag, and tags are not supported: put the value in quotes if it is meant to begin with !"},
		{"tag of one character", "a:\n- ! docs\n", "f:2:3: a[0]: has a tag, and tags are not supported: put the value in quotes if it is meant to begin with !"},
		{"core tag", "a: !!str 1\n", "f:1:4: a: has a tag, and tags are not supported: put the value in quotes if it is meant to begin with !"},
		{"merge key", "a:\n  <<: {b: 1}\n", "f:2:3: a: has a merge key, and merge keys are not supported: write the fields out"},
		{"key that is a number", "1: x\n", "f:1:1: has a key that is not a plain string: put it in quotes if it is meant to be one"},
		{"key that is a list", "? [x]\n: y\n", "f:1:3: has a key that is not a plain string: put it in quotes if it is meant to be one"},
		{"duplicate", "a: 1\nb:\n- {c: 1, c: 2}\n", "f:3:10: b[0].c: is set twice, in line 3 too"},
		{"odd keys", "a.b: 1\n'a.b': 2\n'': 1\n\"\": 2\n", "f:2:1: [\"a.b\"]: is set twice, in line 1 too\nf:4:1: [\"\"]: is set twice, in line 3 too"},
		{"every document", "a: &x 1\n---\n---\nb: !y 1\n", "" +
			"f:1:4: a: has an anchor, and anchors are not supported: leave &x out, or put the value in quotes if it is meant to begin with &\n" +
			"f:4:4: b: has a tag, and tags are not supported: put the value in quotes if it is meant to begin with !"},
		{"deep", strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), ""},
		{"too deep", "a: " + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
			"f:1:35: a" + strings.Repeat("[0]", MaxDepth-1) + ": nests deeper than 32 levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := problems(t, tt.in, nothing); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestParseDocuments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		"":                       0,
		"# nothing\n":            0,
		"---\n---\n":             0,
		"a: 1\n":                 1,
		"\ufeffa: 1\r\nb: 2\r\n": 1,
		"a: 1\n---\nb: 1\n---\n": 2,
		"null\n":                 1,
		"x\n":                    1,
	} {
		docs, err := Parse("f", []byte(in))
		if err != nil || len(docs) != want {
			t.Errorf("%q: %d documents, error %v; want %d", in, len(docs), err, want)
		}
	}
}

func TestPeek(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"kind: Target\n":     "Target",
		"kind: 1\n":          "",
		"kind: [Target]\n":   "",
		"kind: &x Target\n":  "",
		"- kind: Target\n":   "",
		"other: {kind: X}\n": "",
	} {
		docs, err := Parse("f", []byte(in))
		if err != nil || len(docs) != 1 {
			t.Fatalf("%q: %d documents, error %v", in, len(docs), err)
		}
		before := docs[0].Err()
		if got := docs[0].Peek("kind"); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if after := docs[0].Err(); (before == nil) != (after == nil) {
			t.Errorf("%q: looking changed the error to %v", in, after)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	at := func(line int, message string) *Error { return &Error{File: "f", Line: line, Message: message} }
	other := errors.New("other")
	if err := Join(nil, nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	if err := Join(other, nil); err.Error() != "other" || !errors.Is(err, other) {
		t.Errorf("of another error: %v", err)
	}
	err := Join(&Errors{List: []*Error{at(1, "a"), at(3, "c")}}, other, &Errors{List: []*Error{at(1, "a"), at(2, "b")}})
	if want := "f:1: a\nf:2: b\nf:3: c\nother"; err.Error() != want || !errors.Is(err, other) {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if first, ok := errors.AsType[*Error](err); !ok || first.Line != 1 {
		t.Errorf("the first problem is %v", first)
	}
}
