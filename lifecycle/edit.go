package lifecycle

import "github.com/pharos-dev/pharos/internal/objectjson"

// annotated returns an object with an annotation.
func annotated(doc []byte, name, value string) ([]byte, error) {
	o, err := objectjson.Decode(doc)
	if err != nil {
		return nil, err
	}
	mapIn(mapIn(o, "metadata"), "annotations")[name] = value
	return objectjson.Encode(o)
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
