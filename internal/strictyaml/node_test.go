package strictyaml

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type form struct {
	Name   string
	Flag   bool
	List   []string
	Set    []string
	Values map[string]string
	Nested string
}

func noX(s string) error {
	if strings.Contains(s, "x") {
		return fmt.Errorf("has an x")
	}
	return nil
}

func readForm(f *form) func(Node) {
	return func(n Node) {
		m := n.Map("name", "flag", "list", "set", "values", "nested")
		f.Name = m.Required("name").String(noX)
		f.Flag = m.Optional("flag").Bool()
		f.List = m.Optional("list").Strings(noX)
		f.Set = m.Optional("set").StringSet(noX)
		f.Values = m.Optional("values").StringMap(func(k, v string) error {
			if k == "bad" {
				return errors.New("is bad")
			}
			return noX(v)
		})
		f.Nested = m.Optional("nested").Map("deep").Required("deep").String(OneOf("one", "two"))
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	var got form
	in := `name: a
flag: true
list: [c, b, c]
set: [c, b]
values: {k: v, empty: "", "odd key": yes}
nested: {deep: one}
`
	if p := problems(t, in, readForm(&got)); p != "" {
		t.Fatal(p)
	}
	want := form{Name: "a", Flag: true, List: []string{"c", "b", "c"}, Set: []string{"b", "c"},
		Values: map[string]string{"k": "v", "empty": "", "odd key": "yes"}, Nested: "one"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"absent", "flag: false\n", "f:1:1: name: is missing"},
		{"all absent", "{}\n", "f:1:1: name: is missing"},
		{"a list", "- a\n", "f:1:1: must be a mapping, not a list"},
		{"a string", "abc\n", `f:1:1: must be a mapping, not the string "abc"`},
		{"null", "null\n", "f:1:1: has no value: give it one (a mapping) or leave it out"},
		{"slip", "name: a\nfalg: true\n", `f:2:1: falg: is not known; did you mean "flag"?`},
		{"case", "Name: a\n", `f:1:1: Name: is not known; did you mean "name"?` + "\nf:1:1: name: is missing"},
		{"unknown", "name: a\ncolour: red\n", "f:2:1: colour: is not known; the fields are name, flag, list, set, values, nested"},
		{"number", "name: 1.10\n", "f:1:7: name: must be a string, not the number 1.10: put it in quotes"},
		{"boolean", "name: true\n", "f:1:7: name: must be a string, not the boolean true: put it in quotes"},
		{"date", "name: 2026-01-01\n", "f:1:7: name: must be a string, not the date 2026-01-01: put it in quotes"},
		{"no value", "name:\n", "f:1:6: name: has no value: give it one (a string) or leave it out"},
		{"tilde", "name: ~\n", "f:1:7: name: has no value: give it one (a string) or leave it out"},
		{"empty", "name: ''\n", "f:1:7: name: is empty"},
		{"check", "name: xyz\n", "f:1:7: name: has an x"},
		{"mapping for a string", "name: {a: b}\n", "f:1:7: name: must be a string, not a mapping"},
		{"flag", "name: a\nflag: yes\n", `f:2:7: flag: must be true or false, not the string "yes"`},
		{"flag without value", "name: a\nflag:\n", "f:2:6: flag: has no value: give it one (true or false) or leave it out"},
		{"items", "name: a\nlist: [b, 1, x, '', [c]]\n", "" +
			"f:2:11: list[1]: must be a string, not the number 1: put it in quotes\n" +
			"f:2:14: list[2]: has an x\n" +
			"f:2:17: list[3]: is empty\n" +
			"f:2:21: list[4]: must be a string, not a list"},
		{"string for a list", "name: a\nlist: b\n", `f:2:7: list: must be a list, not the string "b"`},
		{"set", "name: a\nset: [b, c, b]\n", "f:2:13: set[2]: is listed twice"},
		{"values", "name: a\nvalues: {k: 1, bad: v, l: x, m: }\n", "" +
			"f:2:13: values.k: must be a string, not the number 1: put it in quotes\n" +
			"f:2:21: values.bad: is bad\n" +
			"f:2:27: values.l: has an x\n" +
			"f:2:33: values.m: has no value: give it one (a string) or leave it out"},
		{"values of a list", "name: a\nvalues: []\n", "f:2:9: values: must be a mapping of strings to strings, not a list"},
		{"nested", "name: a\nnested: {depp: one}\n", "f:2:9: nested.deep: is missing\n" + `f:2:10: nested.depp: is not known; did you mean "deep"?`},
		{"value", "name: a\nnested: {deep: tow}\n", `f:2:16: nested.deep: is "tow"; did you mean "two"?`},
		{"far value", "name: a\nnested: {deep: three}\n", `f:2:16: nested.deep: is "three", and must be one of one, two`},
		{"long value", "name: a\nflag: '" + strings.Repeat("ä", 200) + "'\n", `f:2:7: flag: must be true or false, not the string "` + strings.Repeat("ä", 80) + `…"`},
		{"refused is not reported again", "name: &a {b: c}\nlist: !x y\n", "" +
			"f:1:7: name: has an anchor, and anchors are not supported: leave &a out, or put the value in quotes if it is meant to begin with &\n" +
			"f:2:7: list: has a tag, and tags are not supported: put the value in quotes if it is meant to begin with !"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := problems(t, tt.in, readForm(new(form))); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	var chosen string
	read := func(n Node) {
		chosen = n.Map("a", "b").OneOf("a", "b")
	}
	for _, tt := range []struct{ in, chosen, want string }{
		{"a: 1\n", "a", ""},
		{"b:\n", "b", ""},
		{"{}\n", "", "f:1:1: needs one of a, b"},
		{"a: 1\nb: 1\n", "", "f:1:1: has a and b, and must have exactly one of a, b"},
		{"[]\n", "", "f:1:1: must be a mapping, not a list"},
	} {
		if got := problems(t, tt.in, read); got != tt.want || chosen != tt.chosen {
			t.Errorf("%q: chosen %q, got\n%s\nwant %q,\n%s", tt.in, chosen, got, tt.chosen, tt.want)
		}
	}
	none := func(n Node) { n.Map() }
	if got, want := problems(t, "{a: 1}\n", none), "f:1:2: a: is not known: no field is expected here"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"inputs", "images", "insecure", "go"}
	for in, want := range map[string]string{
		"input": "inputs", "Images": "images", "imgaes": "images", "insecrue": "insecure", "og": "", "goo": "go",
		"something": "", "": "", strings.Repeat("inputs", 1000): "",
	} {
		if got := Nearest(in, words); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
