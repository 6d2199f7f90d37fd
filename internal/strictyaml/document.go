package strictyaml

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Document is one document of a file and the problems found in it so far. It
// is not safe for concurrent use.
type Document struct {
	file     string
	text     *text
	root     *yaml.Node
	problems []*Error
}

// Root returns the document's value.
func (d *Document) Root() Node { return Node{doc: d, node: d.root} }

// Peek returns the string that a field at the top has, or "" if there is none,
// and records no problem: for finding out whose document it is.
func (d *Document) Peek(field string) string {
	if _, v := find(d.root, field); v != nil && v.Kind == yaml.ScalarNode && v.Tag == "!!str" {
		return v.Value
	}
	return ""
}

// Err returns the problems recorded so far as an *Errors, or nil.
func (d *Document) Err() error {
	if len(d.problems) == 0 {
		return nil
	}
	return Join(&Errors{List: d.problems})
}

func (d *Document) errorf(at *yaml.Node, field, format string, args ...any) {
	d.problems = append(d.problems, &Error{
		File: d.file, Line: at.Line, Column: at.Column, Field: field, Message: fmt.Sprintf(format, args...),
	})
}

// find returns a mapping's key and value, or nil.
func find(n *yaml.Node, field string) (key, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == field {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}
