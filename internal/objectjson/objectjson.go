// Package objectjson reads and writes objects in the form of lifecycle.Object's
// JSON.
package objectjson

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	kjson "sigs.k8s.io/json"
)

// Decode reads an object. Integers keep all of their digits.
func Decode(doc []byte) (map[string]any, error) {
	var o map[string]any
	err := kjson.UnmarshalCaseSensitivePreserveInts(doc, &o)
	return o, err
}

// Encode writes an object in RFC 8785 form, which knows numbers as doubles only.
// An integer beyond 2^53 keeps its digits nevertheless: the API server reads 64
// bits, and another number is not what the commit says.
func Encode(content any) ([]byte, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(raw)
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, err
	}
	return v, nil
}

// Annotation returns the value of an annotation, and whether the object has it.
func Annotation(doc []byte, name string) (value string, ok bool, err error) {
	if !bytes.Contains(doc, []byte(name)) { // almost none has it
		return "", false, nil
	}
	var head struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(doc, &head); err != nil {
		return "", false, err
	}
	value, ok = head.Metadata.Annotations[name]
	return value, ok, nil
}
