//lint:file-ignore SA1019 Overlays still use these fields.

package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// What is in this file is for messages only: it finds the files in which the
// values of a Secret stand, by looking for its keys in everything that was read.

// valuesIn are values of a Secret in a file.
type valuesIn struct {
	file  string
	line  int    // of the first one
	field string // of a kustomization; empty elsewhere
	keys  []string
}

func (s *scanner) findValues(p *plainSecret) []valuesIn {
	var found []valuesIn
	original := s.originalName(p.object.Name)
	for _, file := range slices.Sorted(maps.Keys(s.tree.files)) {
		search := secretSearch{plainSecret: p, original: original, lines: map[string]int{}}
		search.text(string(s.tree.files[file]), 0, 0)
		if len(search.lines) > 0 {
			found = append(found, valuesIn{file: file, line: slices.Min(slices.Collect(maps.Values(search.lines))), keys: slices.Sorted(maps.Keys(search.lines))})
		}
	}
	for _, k := range s.parsed {
		for i, g := range k.k.SecretGenerator {
			if g.Name != original {
				continue
			}
			field := fmt.Sprintf("secretGenerator[%d]", i)
			if keys := s.generatedKeys(path.Dir(k.path), g.KvPairSources, p.keys); len(keys) > 0 {
				found = append(found, valuesIn{file: k.path, line: fieldLine(s.tree.files[k.path], field), field: field, keys: keys})
			}
		}
	}
	return found
}

// originalName is the name that a Secret has in its file, before prefixes and
// hashes: the longest one of those of all Secrets that its name holds.
func (s *scanner) originalName(name string) string {
	var names []string
	for _, file := range s.tree.files {
		eachSecret(string(file), func(n *yaml.Node) {
			if name := valueOf(valueOf(n, "metadata"), "name"); name != nil {
				names = append(names, name.Value)
			}
		})
	}
	for _, k := range s.parsed {
		for _, g := range k.k.SecretGenerator {
			names = append(names, g.Name)
		}
	}
	original := ""
	for _, n := range names {
		if len(n) > len(original) && strings.Contains(name, n) {
			original = n
		}
	}
	return original
}

// eachSecret calls f for each Secret, or patch of one, in a file.
func eachSecret(text string, f func(*yaml.Node)) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if kind := valueOf(n, "kind"); kind != nil && kind.Value == "Secret" {
			f(n)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return // the end, or not YAML
		}
		walk(&doc)
	}
}

// generatedKeys are those of the keys that a generator sets.
func (s *scanner) generatedKeys(dir string, kv types.KvPairSources, keys []string) []string {
	set := map[string]bool{}
	for _, l := range kv.LiteralSources {
		key, _, _ := strings.Cut(l, "=")
		set[key] = true
	}
	for _, f := range kv.FileSources {
		key, _, ok := strings.Cut(f, "=")
		if !ok {
			key = path.Base(f)
		}
		set[key] = true
	}
	for _, env := range append(slices.Clone(kv.EnvSources), kv.EnvSource) {
		p, err := join(dir, env)
		if err != nil || env == "" {
			continue
		}
		content, err := s.tree.read(p)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(content)) {
			key, _, _ := strings.Cut(strings.TrimSpace(line), "=")
			set[key] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !set[key] })
}

// secretValues are the values of all Secrets in the files that were read, to keep
// them out of messages.
func (s *scanner) secretValues() []string {
	var values []string
	for _, file := range s.tree.files {
		eachSecret(string(file), func(n *yaml.Node) {
			for _, field := range secretFields {
				for i, v := range contentOf(valueOf(n, field)) {
					if i%2 == 1 && v.Kind == yaml.ScalarNode {
						values = append(values, v.Value)
					}
				}
			}
		})
	}
	return values
}

func contentOf(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	return n.Content
}

// secretSearch looks for values of a Secret in a file.
type secretSearch struct {
	*plainSecret
	original string
	lines    map[string]int // by the key of a value
}

// text searches YAML, which may stand in YAML, as patches do, at most so deep.
func (s *secretSearch) text(text string, above, depth int) {
	const maxDepth = 3
	if depth > maxDepth || !strings.Contains(text, ":") {
		return
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return // the end, or not YAML
		}
		s.node(&doc, above, depth)
	}
}

// node follows no aliases: what they stand for is searched where it stands.
func (s *secretSearch) node(n *yaml.Node, above, depth int) {
	switch n.Kind {
	case yaml.MappingNode:
		s.secret(n, above)
		s.operation(n, above)
	case yaml.ScalarNode:
		if strings.ContainsAny(n.Value, "\n{") {
			line := n.Line // of the indicator, for a block
			if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
				line--
			}
			s.text(n.Value, above+line, depth+1)
		}
	}
	for _, c := range n.Content {
		s.node(c, above, depth)
	}
}

// secret looks at an object, or a patch of one, of the Secret's name.
func (s *secretSearch) secret(n *yaml.Node, above int) {
	if valueOf(n, "kind") == nil || valueOf(n, "kind").Value != "Secret" {
		return
	}
	if name := valueOf(valueOf(n, "metadata"), "name"); name != nil && name.Value != s.original && name.Value != s.object.Name {
		return
	}
	var content map[string]any
	sealed := n.Decode(&content) == nil && sealed(content)
	for _, field := range secretFields {
		values := contentOf(valueOf(n, field))
		for i := 0; i+1 < len(values); i += 2 {
			if v := values[i+1]; v.Kind != yaml.ScalarNode || plainValue(v.Value, sealed) {
				s.hit(values[i].Value, above+values[i].Line)
			}
		}
	}
}

var valuePath = lazyregexp.New(`^/(?:data|stringData)(?:/(.*))?$`)

// operation looks at an operation of a JSON patch, which does not say of what
// kind of object it is.
func (s *secretSearch) operation(n *yaml.Node, above int) {
	at, value := valueOf(n, "path"), valueOf(n, "value")
	if at == nil || value == nil || valueOf(n, "op") == nil {
		return
	}
	m := valuePath.FindStringSubmatch(at.Value)
	if m == nil {
		return
	}
	if m[1] != "" {
		s.hit(strings.NewReplacer("~1", "/", "~0", "~").Replace(m[1]), above+at.Line)
		return
	}
	for i, key := range contentOf(value) {
		if i%2 == 0 {
			s.hit(key.Value, above+key.Line)
		}
	}
}

func (s *secretSearch) hit(key string, line int) {
	if _, known := s.lines[key]; !known && slices.Contains(s.keys, key) {
		s.lines[key] = line
	}
}

// valueOf returns a field's value, nil if there is none.
func valueOf(n *yaml.Node, field string) *yaml.Node {
	content := contentOf(n)
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value == field {
			return content[i+1]
		}
	}
	return nil
}
