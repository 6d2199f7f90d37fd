package schema

import (
	_ "embed"
	"slices"
)

//go:embed pharos.schema.json
var schema []byte

// JSON returns the schema. The caller may change the bytes.
func JSON() []byte { return slices.Clone(schema) }
