// Package schema holds the JSON schema (draft 7) of the documents of a
// pharos.yaml, for editors and other tools that check files before Pharos reads
// them. Editors that use yaml-language-server take it from a comment at the top
// of the file:
//
//	# yaml-language-server: $schema=https://pharos.dev/schema/v1alpha1/pharos.schema.json
//
// The schema accepts every document that is accepted by catalogue.Parse and
// lifecycle/standard.ParseTargets, and refuses unknown and missing fields and
// wrong types as they do. It cannot hold every rule: that names are unique, or
// that a pattern is well-formed, only the parsers say.
package schema
