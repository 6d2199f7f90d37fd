// Package schema holds the JSON schemas (draft 7) of the documents of a
// pharos.yaml and of a pharos.lock, for editors and other tools that check files
// before Pharos reads them. Editors that use yaml-language-server take it from a comment at the top
// of the file:
//
//	# yaml-language-server: $schema=https://pharos.dev/schema/v1alpha1/pharos.schema.json
//
// The schemas accept every document that is accepted by catalogue.Parse,
// lifecycle/standard.ParseTargets and catalogue.ParseLock, and refuse unknown and
// missing fields and wrong types as they do. They cannot hold every rule: that names are unique, or
// that a pattern is well-formed, only the parsers say.
package schema
