package agent

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// headers are the fields of a request that the agent asks for. The others are not
// kept: a small block can stand for very many.
type headers struct {
	path, userAgent, contentType string
}

func (h *headers) add(f hpack.HeaderField) {
	switch f.Name {
	case ":path":
		h.path = f.Value
	case "user-agent":
		h.userAgent = f.Value
	case "content-type":
		h.contentType = f.Value
	}
}

// newEncoder returns an encoder that any caller can follow, however small its table.
func newEncoder(into *bytes.Buffer) *hpack.Encoder {
	e := hpack.NewEncoder(into)
	e.SetMaxDynamicTableSize(0)
	return e
}

// newDecoder returns a decoder of requests, whose names and values have at most
// longest bytes.
func newDecoder(into *headers, longest int) *hpack.Decoder {
	d := hpack.NewDecoder(4096, into.add)
	d.SetMaxStringLength(longest)
	return d
}
