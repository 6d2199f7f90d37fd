package render

import (
	"strconv"

	yaml "go.yaml.in/yaml/v3"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// fieldStep is one step of a field such as "patches[2].path".
var fieldStep = lazyregexp.New(`^\.?([A-Za-z0-9]+)|^\[(\d+)\]`)

// fieldLine finds the line of a field in a YAML document: that of the deepest
// part of it that is there, 0 if there is none. It is called for messages
// only, so parsing again is no loss.
func fieldLine(content []byte, field string) int {
	var doc yaml.Node
	if field == "" || yaml.Unmarshal(content, &doc) != nil || len(doc.Content) == 0 {
		return 0
	}
	at, line := doc.Content[0], 0
	for {
		step := fieldStep.FindStringSubmatch(field)
		if step == nil {
			return line
		}
		field = field[len(step[0]):]
		var next *yaml.Node
		switch {
		case step[1] != "" && at.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(at.Content); i += 2 {
				if at.Content[i].Value == step[1] {
					next, line = at.Content[i+1], at.Content[i].Line
				}
			}
		case step[2] != "" && at.Kind == yaml.SequenceNode:
			if i, err := strconv.Atoi(step[2]); err == nil && i < len(at.Content) {
				next = at.Content[i]
				line = next.Line
			}
		}
		if next == nil {
			return line
		}
		at = next
	}
}

// keyLine finds the line of a key that stands once in a document, 0 if it
// stands in several places.
func keyLine(content []byte, key string) int {
	var doc yaml.Node
	if yaml.Unmarshal(content, &doc) != nil {
		return 0
	}
	if lines := keyLines(&doc, key); len(lines) == 1 {
		return lines[0]
	}
	return 0
}

func keyLines(n *yaml.Node, key string) []int {
	var lines []int
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Value == key {
			lines = append(lines, c.Line)
		}
		lines = append(lines, keyLines(c, key)...)
	}
	return lines
}
