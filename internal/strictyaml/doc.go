// Package strictyaml reads YAML documents written by people and says all that
// is wrong with them at once, each problem with its file, line, column and
// field.
//
// It is a cursor over the parsed nodes, not a decoder into structs: a consumer
// walks the fields that it knows, gets the zero value for what is absent or
// wrong, and asks for the document's error at the end.
//
//	docs, err := strictyaml.Parse("pharos.yaml", data)
//	…
//	root := docs[0].Root().Map("kind", "metadata")
//	name := root.Required("metadata").Map("name").Required("name").String(checkName)
//	if err := docs[0].Err(); err != nil { … }
//
// What makes it strict: unknown, duplicate and null fields are problems, and
// so is a value of another type than asked for, so that 1.10 is never taken
// for "1.10" or the other way round. Anchors, aliases, merge keys and tags are
// refused, since what they mean is not what stands there. A file may have
// MaxSize bytes, and values may nest MaxDepth levels deep.
package strictyaml
