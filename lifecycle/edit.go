package lifecycle

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	kjson "sigs.k8s.io/json"
)

// decodeObject reads an object; integers keep all of their digits.
func decodeObject(doc []byte) (map[string]any, error) {
	var o map[string]any
	err := kjson.UnmarshalCaseSensitivePreserveInts(doc, &o)
	return o, err
}

// encodeObject writes an object in the form of Object.JSON.
func encodeObject(o map[string]any) ([]byte, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(raw)
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, err
	}
	return v, nil
}

// annotated returns an object with an annotation.
func annotated(doc []byte, name, value string) ([]byte, error) {
	o, err := decodeObject(doc)
	if err != nil {
		return nil, err
	}
	mapIn(mapIn(o, "metadata"), "annotations")[name] = value
	return encodeObject(o)
}

// mapIn returns the map in a field, which is made if there is none.
func mapIn(m map[string]any, field string) map[string]any {
	inner, ok := m[field].(map[string]any)
	if !ok {
		inner = map[string]any{}
		m[field] = inner
	}
	return inner
}
