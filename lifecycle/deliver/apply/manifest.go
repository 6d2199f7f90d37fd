package apply

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// manifest is where in an object's JSON the parts of its metadata stand. Parts
// are exchanged in place: what is not touched keeps every digit that it has.
type manifest struct {
	doc []byte
	// metadata is the offset right after the brace that opens the metadata.
	metadata int
	// name is from where to where the value of metadata.name stands.
	name [2]int
	// served are the fields in it by which the server tells objects and their
	// versions apart, and which say under which condition one may be written.
	served []string
}

var errNoMetadata = errors.New("it has no metadata")

func readManifest(doc []byte) (manifest, error) {
	m := manifest{doc: doc}
	d := jsontext.NewDecoder(bytes.NewReader(doc))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return m, errors.Join(errNoMetadata, err)
	}
	for d.PeekKind() == '"' {
		field, err := d.ReadToken()
		if err != nil {
			return m, err
		}
		if field.String() == "metadata" && d.PeekKind() == '{' {
			return m, m.readMetadata(d)
		}
		if err := d.SkipValue(); err != nil {
			return m, err
		}
	}
	return m, errNoMetadata
}

func (m *manifest) readMetadata(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	m.metadata = int(d.InputOffset())
	for d.PeekKind() == '"' {
		field, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := field.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		switch key {
		case "name":
			end := int(d.InputOffset())
			m.name = [2]int{end - len(value), end}
		case "uid", "resourceVersion":
			m.served = append(m.served, key)
		}
	}
	return nil
}

// named returns the object under another name.
func (m manifest) named(name string) []byte {
	return slices.Concat(m.doc[:m.name[0]], []byte(strconv.Quote(name)), m.doc[m.name[1]:])
}

// with returns the object with one more field of text in its metadata.
func (m manifest) with(field, value string) []byte {
	return slices.Concat(m.doc[:m.metadata], []byte(strconv.Quote(field)+":"+strconv.Quote(value)+","), m.doc[m.metadata:])
}
