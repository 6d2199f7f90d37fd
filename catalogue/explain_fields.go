package catalogue

import (
	"maps"
	"slices"
	"strings"
)

// recorded is what a preimage says of one thing: a field of pharos.yaml with all
// of its lines, if it is a list.
type recorded struct {
	kind  ReasonKind
	field string // in the words of pharos.yaml
	list  bool
	texts []string
}

// value returns nil for what is not recorded.
func (r *recorded) value() *Value {
	switch {
	case r == nil:
		return nil
	case r.list:
		return &Value{List: r.texts}
	}
	return text(r.texts[0])
}

// text returns the first line, "" for what is not recorded.
func (r *recorded) text() string {
	if r == nil {
		return ""
	}
	return r.texts[0]
}

func (r *recorded) same(other *recorded) bool {
	return r != nil && other != nil && slices.Equal(r.texts, other.texts)
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
		all[id].texts = append(all[id].texts, f.Value)
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
	name, list := key, false
	if before, last, ok := cutLast(key); ok && isIndex(last) && !isMap(before) {
		name, list = before, true
	}
	if name == "platform" {
		return recorded{kind: ReasonRecipe, field: "platforms", list: list}
	}
	kind := ReasonRecipe
	switch _, field, _ := strings.Cut(name, "."); {
	case isField(field, "base"), isField(field, "frontend"):
		kind = ReasonBase
	case isField(field, "image"):
		kind = ReasonDependency
	}
	return recorded{kind: kind, field: "build." + name, list: list}
}

func cutLast(key string) (before, last string, ok bool) {
	i := strings.LastIndexByte(key, '.')
	if i < 0 {
		return key, "", false
	}
	return key[:i], key[i+1:], true
}

// isIndex says whether it is the number of a line of a list.
func isIndex(s string) bool { return len(s) >= 4 && strings.Trim(s, "0123456789") == "" }

// isMap says whether what follows is a name, whatever it looks like.
func isMap(key string) bool {
	return strings.HasSuffix(key, ".env") || strings.HasSuffix(key, ".args")
}

func isField(name, field string) bool { return name == field || strings.HasPrefix(name, field+".") }

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
