package strictyaml

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// refused is the kind of a node whose problem is recorded already: reading it
// gives a zero value and says nothing more.
const refused yaml.Kind = 0

// inspect records what no reader has to look for: constructs that are refused
// wherever they stand.
func (d *Document) inspect(n *yaml.Node, path string, depth int) {
	refuse := func(format string, args ...any) {
		d.errorf(n, path, format, args...)
		n.Kind, n.Content = refused, nil
	}
	switch {
	case depth > MaxDepth:
		refuse("nests deeper than %d levels", MaxDepth)
	case n.Kind == yaml.AliasNode:
		refuse("is an alias, and aliases are not supported: write the value out, or put it in quotes if it is meant to begin with *")
	case n.Anchor != "":
		refuse("has an anchor, and anchors are not supported: leave &%s out, or put the value in quotes if it is meant to begin with &", short(n.Anchor))
	case d.tagged(n):
		refuse("has a tag, and tags are not supported: put the value in quotes if it is meant to begin with !")
	case n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			d.inspect(item, index(path, i), depth+1)
		}
	case n.Kind == yaml.MappingNode:
		d.inspectMap(n, path, depth)
	}
}

// tagged says whether a value has a tag. The parser drops the tag "!", with
// which "- ! docs" would mean docs.
func (d *Document) tagged(n *yaml.Node) bool {
	return n.Style&yaml.TaggedStyle != 0 || d.text.at(n.Line, n.Column) == '!'
}

// inspectMap leaves only sound keys in a mapping, each once.
func (d *Document) inspectMap(n *yaml.Node, path string, depth int) {
	first := map[string]int{}
	kept := n.Content[:0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Tag == "!!merge":
			d.errorf(key, path, "has a merge key, and merge keys are not supported: write the fields out")
			continue
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str" || key.Anchor != "" || d.tagged(key):
			d.errorf(key, path, "has a key that is not a plain string: put it in quotes if it is meant to be one")
			continue
		}
		field := join(path, key.Value)
		if line, ok := first[key.Value]; ok {
			d.errorf(key, field, "is set twice, in line %d too", line)
			continue
		}
		first[key.Value] = key.Line
		d.inspect(value, field, depth+1)
		kept = append(kept, key, value)
	}
	n.Content = kept
}

// join appends a key to a field's path.
func join(path, key string) string {
	switch {
	case key == "" || strings.ContainsAny(key, ".[]\" \t\n:"):
		return fmt.Sprintf("%s[%s]", path, quote(key))
	case path == "":
		return short(key)
	}
	return path + "." + short(key)
}

// quote quotes a value for a message.
func quote(s string) string { return fmt.Sprintf("%q", short(s)) }

// short cuts what is too long for a message.
func short(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
