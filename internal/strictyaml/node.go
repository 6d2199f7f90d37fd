package strictyaml

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Node is a value in a document, or the place where an absent one would be.
// Reading an absent value gives the zero value and is no problem; Map.Required
// has reported it where it is one.
type Node struct {
	doc   *Document
	node  *yaml.Node // nil if absent
	field string
}

// Check says what is wrong with a value, or returns nil. Its text follows the
// name of the field: "is no path".
type Check func(value string) error

// Equal is a Check that the value is the given one.
func Equal(want string) Check {
	return func(value string) error {
		if value != want {
			return fmt.Errorf("is %s, and must be %s", quote(value), want)
		}
		return nil
	}
}

// OneOf is a Check that the value is among the given ones.
func OneOf(values ...string) Check {
	return func(value string) error {
		if slices.Contains(values, value) {
			return nil
		}
		if best := Nearest(value, values); best != "" {
			return fmt.Errorf("is %s; did you mean %q?", quote(value), best)
		}
		return fmt.Errorf("is %s, and must be one of %s", quote(value), strings.Join(values, ", "))
	}
}

// Present says whether the document has the value.
func (n Node) Present() bool { return n.node != nil }

// Empty says whether the value is a list or a mapping with nothing in it.
func (n Node) Empty() bool {
	return n.node != nil && (n.node.Kind == yaml.SequenceNode || n.node.Kind == yaml.MappingNode) && len(n.node.Content) == 0
}

// Errorf records a problem of the value, which must be present.
func (n Node) Errorf(format string, args ...any) {
	n.doc.errorf(n.node, n.field, format, args...)
}

// is says whether the node is there and of that kind, and records a problem if
// it is of another.
func (n Node) is(kind yaml.Kind, wanted string) bool {
	switch {
	case n.node == nil || n.node.Kind == refused:
		return false
	case n.node.Kind == kind:
		return true
	case n.node.Tag == "!!null":
		n.Errorf("has no value: give it one (%s) or leave it out", wanted)
	default:
		n.Errorf("must be %s, not %s", wanted, describe(n.node))
	}
	return false
}

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!bool":
		return "the boolean " + short(n.Value)
	case "!!int", "!!float":
		return "the number " + short(n.Value)
	case "!!timestamp":
		return "the date " + short(n.Value)
	}
	return "the string " + quote(n.Value)
}

// text reads a string, empty or not.
func (n Node) text() (s string, ok bool) {
	if !n.is(yaml.ScalarNode, "a string") {
		return "", false
	}
	switch n.node.Tag {
	case "!!str":
		return n.node.Value, true
	case "!!null":
		n.Errorf("has no value: give it one (a string) or leave it out")
	default:
		n.Errorf("must be a string, not %s: put it in quotes", describe(n.node))
	}
	return "", false
}

// IsString says whether the value is a scalar, which String reads, where others
// are allowed in its place.
func (n Node) IsString() bool { return n.node != nil && n.node.Kind == yaml.ScalarNode }

// String reads a string that is not empty and passes the checks.
func (n Node) String(checks ...Check) string {
	s, ok := n.text()
	if !ok {
		return ""
	}
	if s == "" {
		n.Errorf("is empty")
		return ""
	}
	for _, check := range checks {
		if err := check(s); err != nil {
			n.Errorf("%v", err)
			return ""
		}
	}
	return s
}

// Bool reads true or false.
func (n Node) Bool() bool {
	if !n.is(yaml.ScalarNode, "true or false") {
		return false
	}
	switch {
	case n.node.Tag == "!!null":
		n.Errorf("has no value: give it one (true or false) or leave it out")
	case n.node.Tag != "!!bool":
		n.Errorf("must be true or false, not %s", describe(n.node))
	}
	return n.node.Tag == "!!bool" && (n.node.Value[0] == 't' || n.node.Value[0] == 'T')
}

// List reads a list's items; it is not nil for an empty list.
func (n Node) List() []Node {
	if !n.is(yaml.SequenceNode, "a list") {
		return nil
	}
	items := make([]Node, len(n.node.Content))
	for i, item := range n.node.Content {
		items[i] = n.item(i, item)
	}
	return items
}

// Strings reads a list of strings in its order; each is read as String does.
func (n Node) Strings(checks ...Check) []string {
	var list []string
	for _, item := range n.List() {
		if s := item.String(checks...); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// StringSet reads a list of strings whose order does not count: sorted, and an
// item that is listed twice is a problem.
func (n Node) StringSet(checks ...Check) []string {
	seen := map[string]bool{}
	unique := func(s string) error {
		if seen[s] {
			return errTwice
		}
		seen[s] = true
		return nil
	}
	list := n.Strings(append(slices.Clone(checks), unique)...)
	slices.Sort(list)
	return list
}

// StringMap reads a mapping of strings to strings, which may be empty. The
// check is given each pair.
func (n Node) StringMap(check func(key, value string) error) map[string]string {
	if !n.is(yaml.MappingNode, "a mapping of strings to strings") {
		return nil
	}
	values := make(map[string]string, len(n.node.Content)/2)
	for i := 0; i+1 < len(n.node.Content); i += 2 {
		key := n.node.Content[i].Value
		v := Node{doc: n.doc, node: n.node.Content[i+1], field: join(n.field, key)}
		s, ok := v.text()
		if !ok {
			continue
		}
		if err := check(key, s); err != nil {
			v.Errorf("%v", err)
			continue
		}
		values[key] = s
	}
	return values
}
