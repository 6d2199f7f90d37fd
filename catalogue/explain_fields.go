package catalogue

import (
	"maps"
	"slices"
	"strings"
)

// recorded is what a preimage says of one thing: one line, or those of a list.
type recorded struct {
	kind  ReasonKind
	field string // as Reason.Field
	list  bool
	lines []Field
}

// value returns nil for what is not recorded.
func (r *recorded) value() *Value {
	switch {
	case r == nil:
		return nil
	case r.list:
		return &Value{List: r.texts()}
	}
	return text(r.lines[0].Value)
}

// texts returns the values of the lines, none for what is not recorded.
func (r *recorded) texts() []string {
	if r == nil {
		return nil
	}
	var texts []string
	for _, line := range r.lines {
		texts = append(texts, line.Value)
	}
	return texts
}

func (r *recorded) same(other *recorded) bool {
	return r != nil && other != nil && slices.Equal(r.lines, other.lines)
}

// gather puts the lines of a preimage together, by what they are about.
func gather(preimage []Field) map[string]*recorded {
	all := map[string]*recorded{}
	for _, f := range preimage {
		r := recordedAs(f.Key)
		id := string(r.kind) + " " + r.field
		if all[id] == nil {
			all[id] = &r
		}
		all[id].lines = append(all[id].lines, f)
	}
	return all
}

// recordedAs says what a key of a preimage is about. One that a builder of
// another program made is a field of its recipe.
func recordedAs(key string) recorded {
	switch key {
	case "tree":
		return recorded{kind: ReasonInput}
	case "builder":
		return recorded{kind: ReasonRecipe, field: "build"}
	case "builder.version":
		return recorded{kind: ReasonBuilder}
	}
	builder, rest, _ := strings.Cut(key, ".")
	field, index, list := strings.Cut(rest, ".")
	switch {
	case builder == "platform":
		return recorded{kind: ReasonRecipe, field: "platforms", list: true}
	case field == "base", field == "frontend":
		return recorded{kind: ReasonBase, field: basisField(builder, field), list: list}
	case field == "image":
		return recorded{kind: ReasonDependency, field: basisField(builder, "base"), list: list}
	case field == "frontendImage":
		return recorded{kind: ReasonDependency, field: basisField(builder, "frontend"), list: list}
	case list && field != "env" && field != "args" && isIndex(index):
		return recorded{kind: ReasonRecipe, field: "build." + builder + "." + field, list: true}
	}
	return recorded{kind: ReasonRecipe, field: "build." + key}
}

// basisField returns where it stands what an image is built on: in pharos.yaml,
// or in a Dockerfile.
func basisField(builder, field string) string {
	if builder == BuildDockerfile {
		return field
	}
	return "build." + builder + "." + field
}

// isIndex says whether it is the number of a line of a list.
func isIndex(s string) bool { return len(s) >= 4 && strings.Trim(s, "0123456789") == "" }

// changedFields calls visit for what differs between two preimages, in order.
func changedFields(old, new []Field, visit func(is recorded, old, new *recorded) error) error {
	before, after := gather(old), gather(new)
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if before[id].same(after[id]) {
			continue
		}
		if err := visit(*all[id], before[id], after[id]); err != nil {
			return err
		}
	}
	return nil
}
