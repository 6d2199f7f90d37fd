package catalogue

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// GoValues is what the templates in a Go recipe stand for. All of it follows from
// the tree alone.
type GoValues struct {
	// Fingerprint is {{.Fingerprint}}, in LDFlags only. It is the hash of a recipe
	// in which the template stands as it was written.
	Fingerprint Fingerprint
	// Tree is {{.Tree}}, the ID of the pruned tree, in LDFlags only.
	Tree source.ID
	// Platform is what is built for: {{.OS}} and {{.Arch}}, in LDFlags and Tags.
	Platform Platform
}

func (v GoValues) inTags() map[string]string {
	return map[string]string{"OS": v.Platform.OS, "Arch": v.Platform.Architecture}
}

func (v GoValues) inLDFlags() map[string]string {
	values := v.inTags()
	values["Fingerprint"], values["Tree"] = string(v.Fingerprint), string(v.Tree)
	return values
}

// Expand returns the recipe with the templates in LDFlags and Tags replaced by
// what they stand for. The error names the field, and the item by its place; a
// recipe that Parse returned has none.
func (b GoBuild) Expand(v GoValues) (GoBuild, error) {
	var err error
	if b.LDFlags, err = expandAll("ldflags", b.LDFlags, v.inLDFlags()); err != nil {
		return b, err
	}
	b.Tags, err = expandAll("tags", b.Tags, v.inTags())
	return b, err
}

func expandAll(field string, list []string, values map[string]string) ([]string, error) {
	expanded := slices.Clone(list)
	for i, item := range list {
		var err error
		if expanded[i], err = expand(item, values); err != nil {
			return nil, fmt.Errorf("build.go.%s[%d] %w", field, i, err)
		}
	}
	return expanded, nil
}

// expand replaces templates: a name between "{{." and "}}". It is no template
// language, so that nothing can be computed that the inputs do not say.
func expand(text string, values map[string]string) (string, error) {
	var out strings.Builder
	for rest := text; ; {
		before, template, found := strings.Cut(rest, "{{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		inside, after, closed := strings.Cut(template, "}}")
		if !closed {
			return "", fmt.Errorf("is %q, where a {{ has no }}", text)
		}
		name, dotted := strings.CutPrefix(strings.TrimSpace(inside), ".")
		value, known := values[name]
		if !dotted || !known {
			return "", fmt.Errorf("is %q, and {{%s}} stands for nothing here: templates are %s, since they follow from the inputs alone. "+
				"A commit, a time or a variable of the machine would make another image of the same inputs; the receipt says which commit an image was delivered with",
				text, inside, templates(values))
		}
		out.WriteString(value)
		rest = after
	}
}

// templates lists the names of values as they are written.
func templates(values map[string]string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		names = append(names, "{{."+name+"}}")
	}
	return strings.Join(names, ", ")
}

// checkTemplates accepts an argument of the linker whose templates are known.
func checkTemplates(s string) error {
	_, err := expand(s, GoValues{}.inLDFlags())
	return err
}
