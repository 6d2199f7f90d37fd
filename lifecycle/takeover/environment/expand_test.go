package environment

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	known := map[string]string{"A": "a", "B": "$(A)", "": "empty", "C D": "cd", "E": ""}
	for in, want := range map[string]string{
		"":                 "",
		"plain":            "plain",
		"$(A)":             "a",
		"x$(A)y$(A)":       "xaya",
		"$(B)":             "$(A)", // what a value has is not expanded again
		"$$(A)":            "$(A)",
		"$$$(A)":           "$a",
		"$$$$(A)":          "$$(A)",
		"$(NONE)":          "$(NONE)",
		"$$(NONE)":         "$(NONE)",
		"$()":              "empty",
		"$(C D)":           "cd",
		"$(E)":             "",
		"$(A":              "$(A",
		"$(A$(A)":          "$(A$(A)", // the name is "A$(A"
		"$":                "$",
		"$$":               "$",
		"a$":               "a$",
		"$A ${A} $ä $)":    "$A ${A} $ä $)",
		"$(A))":            "a)",
		"100$ and $(A), $": "100$ and a, $",
	} {
		got, err := expand(in, func(name string) (string, bool, error) { v, ok := known[name]; return v, ok, nil })
		if got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

// kubeletExpand is expand as it is in k8s.io/kubernetes/third_party/forked/golang/expansion.
func kubeletExpand(input string, mapping func(string) string) string {
	read := func(input string) (string, bool, int) {
		r, size := utf8.DecodeRuneInString(input)
		switch r {
		case '$':
			return input[0:size], false, size
		case '(':
			for i := 1; i < len(input); i++ {
				if input[i] == ')' {
					return input[1:i], true, i + 1
				}
			}
			return "$(", false, 1
		default:
			return "$" + string(r), false, size
		}
	}
	var buf strings.Builder
	checkpoint := 0
	for cursor := 0; cursor < len(input); cursor++ {
		if input[cursor] != '$' || cursor+1 >= len(input) {
			continue
		}
		buf.WriteString(input[checkpoint:cursor])
		text, isVar, advance := read(input[cursor+1:])
		if isVar {
			text = mapping(text)
		}
		buf.WriteString(text)
		cursor += advance
		checkpoint = cursor + 1
	}
	return buf.String() + input[checkpoint:]
}

func FuzzExpand(f *testing.F) {
	for _, in := range []string{"$(A)", "$$(A)", "$(", "$", "a$\xff", "$()", "$(A$(B))"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1000 {
			return
		}
		got, err := expand(in, func(name string) (string, bool, error) { return "<" + name + ">", len(name)%2 == 1, nil })
		want := kubeletExpand(in, func(name string) string {
			if len(name)%2 == 1 {
				return "<" + name + ">"
			}
			return "$(" + name + ")"
		})
		if got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	})
}

// Values that refer to each other do not grow without bounds.
func TestExpandIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longestValue/2)
	if _, err := expand("$(A)$(A)", func(string) (string, bool, error) { return long, true, nil }); err != nil {
		t.Error(err)
	}
	if _, err := expand("$(A)$(A)x$", func(string) (string, bool, error) { return long, true, nil }); err == nil {
		t.Error("a value that is too long is returned")
	}
}
