package apply

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	kjson "sigs.k8s.io/json"
)

// fields is a set of fields as metadata.managedFields holds it in fieldsV1.
// Each key is an element of a path: "f:" and a field's name; "k:" and the JSON
// object of the keys of a list's item; "v:" and the JSON value of a set's
// member; "i:" and the index of an item; or ".", the thing itself.
type fields = map[string]any

// managedBy is one entry of metadata.managedFields.
type managedBy struct {
	manager, operation, subresource, time string
	fields                                fields
}

// managers reads metadata.managedFields. What is not of its form is left out:
// an entry that cannot be read owns nothing.
func managers(o object) []managedBy {
	meta, _ := o["metadata"].(object)
	list, _ := meta["managedFields"].([]any)
	var entries []managedBy
	for _, e := range list {
		e, ok := e.(object)
		if !ok {
			continue
		}
		text := func(field string) string { s, _ := e[field].(string); return s }
		f, _ := e["fieldsV1"].(fields)
		entries = append(entries, managedBy{text("manager"), text("operation"), text("subresource"), text("time"), f})
	}
	return entries
}

// applied returns the entry of what the manager applied, and all others.
func applied(entries []managedBy, manager string) (managedBy, []managedBy) {
	i := slices.IndexFunc(entries, func(e managedBy) bool {
		return e.manager == manager && e.operation == "Apply" && e.subresource == ""
	})
	if i < 0 {
		return managedBy{}, entries
	}
	return entries[i], slices.Delete(slices.Clone(entries), i, i+1)
}

// ownedHash is the SHA-256 of the RFC 8785 JSON of the fields that the manager
// applied and still owns, with their live values. It has the form of fieldsV1,
// with each leaf replaced by its value: a field that somebody else changes,
// takes over or removes changes it, a field of somebody else never does.
func ownedHash(o object, manager string) (string, error) {
	ours, others := applied(managers(o), manager)
	theirs := make([]fields, 0, len(others))
	for _, e := range others {
		theirs = append(theirs, e.fields)
	}
	b, err := json.Marshal(ownedValues(ours.fields, o, theirs))
	if err != nil {
		return "", err
	}
	canonical := jsontext.Value(b)
	if err := canonical.Canonicalize(); err != nil {
		return "", err
	}
	return hashOf(canonical), nil
}

// ownedValues returns the live values of a set of fields. theirs are what
// others own at the same place: it tells a map that is owned as a whole, whose
// every value counts, from one in which others have fields of their own.
func ownedValues(set fields, live any, theirs []fields) any {
	if !hasChildren(set) {
		if _, isMap := live.(object); isMap && slices.ContainsFunc(theirs, hasChildren) {
			return object{}
		}
		return live
	}
	values := object{}
	for element, sub := range set {
		if element == "." {
			continue
		}
		value, ok := child(live, element)
		if !ok {
			// It is gone: say so, as null is a value too.
			values["gone "+element] = true
			continue
		}
		sub, _ := sub.(fields)
		var below []fields
		for _, t := range theirs {
			if s, ok := t[element].(fields); ok {
				below = append(below, s)
			}
		}
		values[element] = ownedValues(sub, value, below)
	}
	if list, ok := live.([]any); ok {
		if order := orderOf(list, set); len(order) > 1 {
			values["order"] = order
		}
	}
	return values
}

// orderOf returns those of a set's elements that are items of the list, in the
// order in which they stand there: an apply puts them back in that of the manifest,
// and it may mean something, as with init containers or variables that use others.
func orderOf(list []any, set fields) []string {
	at := map[string]int{}
	for element := range set {
		if kind, _, _ := strings.Cut(element, ":"); kind != "k" && kind != "v" {
			continue
		}
		if i := position(list, element); i >= 0 {
			at[element] = i
		}
	}
	return slices.SortedFunc(maps.Keys(at), func(a, b string) int { return cmp.Or(at[a]-at[b], strings.Compare(a, b)) })
}

func hasChildren(set fields) bool {
	_, self := set["."]
	return len(set) > 1 || len(set) == 1 && !self
}

// child follows one element of a path.
func child(v any, element string) (any, bool) {
	kind, rest, ok := strings.Cut(element, ":")
	if !ok {
		return nil, false
	}
	if kind == "f" {
		m, _ := v.(object)
		c, ok := m[rest]
		return c, ok
	}
	list, _ := v.([]any)
	if i := position(list, element); i >= 0 {
		return list[i], true
	}
	return nil, false
}

// position returns the index of the item of a list that an element names, -1 if
// there is none.
func position(list []any, element string) int {
	kind, rest, _ := strings.Cut(element, ":")
	switch kind {
	case "i":
		if i, err := strconv.Atoi(rest); err == nil && i >= 0 && i < len(list) {
			return i
		}
	case "k":
		var want object
		if kjson.UnmarshalCaseSensitivePreserveInts([]byte(rest), &want) == nil {
			return slices.IndexFunc(list, func(item any) bool { return hasKeys(item, want) })
		}
	case "v":
		var want any
		if kjson.UnmarshalCaseSensitivePreserveInts([]byte(rest), &want) == nil {
			return slices.IndexFunc(list, func(item any) bool { return same(item, want) })
		}
	}
	return -1
}

func hasKeys(item any, want object) bool {
	m, ok := item.(object)
	if !ok || len(want) == 0 {
		return false
	}
	for k, w := range want {
		if have, ok := m[k]; !ok || !same(have, w) {
			return false
		}
	}
	return true
}

// same compares scalars, which are what keys of lists and members of sets are.
func same(a, b any) bool {
	switch a := a.(type) {
	case string, bool, int64, float64, nil:
		if i, ok := a.(int64); ok {
			if f, ok := b.(float64); ok {
				return float64(i) == f
			}
		}
		if f, ok := a.(float64); ok {
			if i, ok := b.(int64); ok {
				return f == float64(i)
			}
		}
		return a == b
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
