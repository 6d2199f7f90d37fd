package lifecycle

import (
	"reflect"

	"github.com/pharos-dev/pharos/internal/objectjson"
)

// serverMetadata are the fields of metadata that the target alone writes.
var serverMetadata = []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"}

// lastApplied is where kubectl's client-side apply keeps a whole object, with the
// values of Secrets.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// masked returns a comparison as people may see it, as Diff describes. A Live or
// Merged that is nil stays so.
func masked(c Comparison) (Comparison, error) {
	live, err := shownObject(c.Live)
	if err != nil {
		return c, err
	}
	merged, err := shownObject(c.Merged)
	if err != nil {
		return c, err
	}
	if c.Object.Group == "" && c.Object.Kind == "Secret" {
		maskSecret(live, merged)
	}
	if live != nil {
		if c.Live, err = objectjson.Encode(live); err != nil {
			return c, err
		}
	}
	if merged != nil {
		c.Merged, err = objectjson.Encode(merged)
	}
	return c, err
}

// shownObject reads an object without what the target alone writes, nil for none.
func shownObject(doc []byte) (map[string]any, error) {
	if doc == nil {
		return nil, nil
	}
	o, err := objectjson.Decode(doc)
	if err != nil {
		return nil, err
	}
	delete(o, "status")
	metadata, _ := o["metadata"].(map[string]any)
	for _, field := range serverMetadata {
		delete(metadata, field)
	}
	return o, nil
}

const (
	maskedSame   = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// maskSecret masks the values of a Secret on both sides, either of which may be
// nil.
func maskSecret(live, merged map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		maskValues(values(live, field), values(merged, field))
	}
	maskValues(only(annotationsOf(live), lastApplied), only(annotationsOf(merged), lastApplied))
}

// valueMap is a map of which some values are masked.
type valueMap struct {
	in   map[string]any
	keys []string
}

func values(o map[string]any, field string) valueMap {
	m, ok := o[field].(map[string]any)
	if !ok {
		if _, there := o[field]; there {
			o[field] = maskedSame // of no form that is known
		}
		return valueMap{}
	}
	v := valueMap{in: m}
	for key := range m {
		v.keys = append(v.keys, key)
	}
	return v
}

func only(m map[string]any, key string) valueMap {
	if _, ok := m[key]; !ok {
		return valueMap{}
	}
	return valueMap{m, []string{key}}
}

func annotationsOf(o map[string]any) map[string]any {
	metadata, _ := o["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}

func maskValues(live, merged valueMap) {
	same := map[string]bool{}
	for _, key := range live.keys {
		after, there := merged.in[key]
		same[key] = !there || reflect.DeepEqual(live.in[key], after)
	}
	for _, key := range live.keys {
		live.in[key] = maskedBefore
		if same[key] {
			live.in[key] = maskedSame
		}
	}
	for _, key := range merged.keys {
		equal, there := same[key]
		merged.in[key] = maskedAfter
		if equal || !there {
			merged.in[key] = maskedSame
		}
	}
}
