package strictyaml

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var errTwice = errors.New("is listed twice")

func (n Node) item(i int, item *yaml.Node) Node {
	return Node{doc: n.doc, node: item, field: index(n.field, i)}
}

// index appends an item's number to a list's path.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Map is a mapping whose fields are known.
type Map struct{ at Node }

// Map reads a mapping and records a problem for each field that is not among
// the given ones.
func (n Node) Map(fields ...string) Map {
	m := n.AnyMap()
	if m.at.node == nil {
		return m
	}
	for i := 0; i+1 < len(n.node.Content); i += 2 {
		key := n.node.Content[i]
		if slices.Contains(fields, key.Value) {
			continue
		}
		n.doc.errorf(key, join(n.field, key.Value), "%s", unknown(key.Value, fields))
	}
	return m
}

// AnyMap reads a mapping whose fields are not known.
func (n Node) AnyMap() Map {
	if !n.is(yaml.MappingNode, "a mapping") {
		return Map{at: Node{doc: n.doc, field: n.field}}
	}
	return Map{at: n}
}

func unknown(name string, fields []string) string {
	if len(fields) == 0 {
		return "is not known: no field is expected here"
	}
	if best := Nearest(name, fields); best != "" {
		return fmt.Sprintf("is not known; did you mean %q?", best)
	}
	return "is not known; the fields are " + strings.Join(fields, ", ")
}

// Optional returns the value of a field, or an absent node.
func (m Map) Optional(field string) Node {
	_, v := find(m.at.node, field)
	return Node{doc: m.at.doc, node: v, field: join(m.at.field, field)}
}

// Required returns the value of a field. If the mapping does not have it, that
// is a problem and the node is absent.
func (m Map) Required(field string) Node {
	v := m.Optional(field)
	if m.at.node != nil && v.node == nil {
		m.at.doc.errorf(m.at.node, v.field, "is missing")
	}
	return v
}

// OneOf returns the name of the one field among the given ones that the
// mapping has. None or several are a problem, and the name is empty.
func (m Map) OneOf(fields ...string) string {
	var have []string
	for _, f := range fields {
		if _, v := find(m.at.node, f); v != nil {
			have = append(have, f)
		}
	}
	switch {
	case len(have) == 1:
		return have[0]
	case m.at.node == nil:
	case len(have) == 0:
		m.at.Errorf("needs one of %s", strings.Join(fields, ", "))
	default:
		m.at.Errorf("has %s, and must have exactly one of %s", strings.Join(have, " and "), strings.Join(fields, ", "))
	}
	return ""
}
