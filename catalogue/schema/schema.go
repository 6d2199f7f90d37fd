package schema

import (
	_ "embed"
	"slices"
)

//go:embed pharos.schema.json
var schema []byte

//go:embed lock.schema.json
var lock []byte

// JSON returns the schema of the documents of a pharos.yaml. The caller may
// change the bytes.
func JSON() []byte { return slices.Clone(schema) }

// LockJSON returns the schema of a pharos.lock. The caller may change the bytes.
func LockJSON() []byte { return slices.Clone(lock) }
