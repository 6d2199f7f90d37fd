package apply

import (
	"bytes"
	"encoding/json"

	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
)

// textAsData writes the stringData of a Secret into its data, as the server does.
// The server keeps no stringData, and yet says that whoever applied it owns just
// that: nobody could tell then who changed a value, nor would a value that left the
// manifest ever leave the Secret. What is not of the form of a Secret stays as it
// is, for the server to refuse.
func textAsData(o *lifecycle.Object) error {
	const field = "stringData"
	if o.Group != "" || o.Kind != "Secret" || !bytes.Contains(o.JSON, []byte(field)) {
		return nil
	}
	var doc, data map[string]json.RawMessage
	var text map[string]string
	if err := json.Unmarshal(o.JSON, &doc); err != nil {
		return err
	}
	if doc[field] == nil || json.Unmarshal(doc[field], &text) != nil {
		return nil
	}
	if doc["data"] != nil && json.Unmarshal(doc["data"], &data) != nil {
		return nil
	}
	if data == nil {
		data = map[string]json.RawMessage{}
	}
	for key, value := range text {
		encoded, err := json.Marshal([]byte(value)) // in base64
		if err != nil {
			return err
		}
		data[key] = encoded
	}
	delete(doc, field)
	if len(data) > 0 {
		encoded, err := json.Marshal(data)
		if err != nil {
			return err
		}
		doc["data"] = encoded
	}
	encoded, err := objectjson.Encode(doc)
	if err != nil {
		return err
	}
	o.JSON = encoded
	return nil
}
