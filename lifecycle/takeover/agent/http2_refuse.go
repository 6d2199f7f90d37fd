package agent

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/http2/hpack"
)

const (
	// maxHeaders is the most that the compressed headers of a request may have.
	maxHeaders = 32 << 10
	// refuseLinger is how long the requests that come right after one that was
	// refused are refused on the same connection.
	refuseLinger = 500 * time.Millisecond
)

var errRefused = errors.New("refused")

// refusal answers every request on a connection of HTTP/2 that nobody serves: with
// UNAVAILABLE for gRPC, with 503 for all else.
type refusal struct {
	c       *caller
	text    string
	decoder *hpack.Decoder
	encoded bytes.Buffer
	encoder *hpack.Encoder
	fields  []hpack.HeaderField
	last    uint32 // the newest stream
}

// refuseHTTP2 refuses what comes. With greeted the preface was answered already. It
// does not close c.
func refuseHTTP2(c *caller, text string, greeted bool) {
	r := &refusal{c: c, text: text}
	r.encoder = newEncoder(&r.encoded)
	r.decoder = newDecoder(&r.fields)
	if _, err := readPreface(c); err != nil {
		return
	}
	if !greeted {
		if _, err := c.Write(appendFrame(nil, frameSettings, 0, 0, nil)); err != nil {
			return
		}
	}
	for r.one() == nil {
	}
	c.SetWriteDeadline(time.Now().Add(lingerTime))
	if _, err := c.Write(goAway(r.last)); err == nil {
		linger(c)
	}
}

// newEncoder returns an encoder that any caller can follow, however small its table.
func newEncoder(into *bytes.Buffer) *hpack.Encoder {
	e := hpack.NewEncoder(into)
	e.SetMaxDynamicTableSize(0)
	return e
}

func newDecoder(into *[]hpack.HeaderField) *hpack.Decoder {
	d := hpack.NewDecoder(4096, func(f hpack.HeaderField) { *into = append(*into, f) })
	d.SetMaxStringLength(maxHeaders)
	return d
}

func readPreface(c *caller) (string, error) {
	var got [len(preface)]byte
	for n := 0; n < len(got); {
		m, err := c.Read(got[n:])
		n += m
		if err != nil {
			return "", err
		}
	}
	if string(got[:]) != preface {
		return "", errNotHTTP2
	}
	return preface, nil
}

// one takes one frame.
func (r *refusal) one() error {
	f, payload, err := readFrame(r.c)
	if err != nil {
		return err
	}
	switch {
	case f.kind == frameSettings && f.flags&flagAck == 0:
		_, err = r.c.Write(appendFrame(nil, frameSettings, flagAck, 0, nil))
	case f.kind == framePing && f.flags&flagAck == 0:
		_, err = r.c.Write(appendFrame(nil, framePing, flagAck, 0, payload))
	case f.kind == frameGoAway:
		err = errRefused
	case f.kind == frameHeaders:
		err = r.headers(f, payload)
	}
	return err
}

func (r *refusal) headers(f frame, payload []byte) error {
	block, err := headerBlock(f, payload)
	if err != nil {
		return err
	}
	for end := f; end.flags&flagEndHeaders == 0; {
		var more []byte
		if end, more, err = readFrame(r.c); err != nil {
			return err
		}
		if end.kind != frameContinuation || len(block)+len(more) > maxHeaders {
			return errNotHTTP2
		}
		block = append(block[:len(block):len(block)], more...)
	}
	r.fields = r.fields[:0]
	if _, err := r.decoder.Write(block); err != nil {
		return err
	}
	if err := r.decoder.Close(); err != nil {
		return err
	}
	if f.stream <= r.last {
		return nil // trailers
	}
	if r.last == 0 {
		r.c.SetDeadline(time.Now().Add(refuseLinger))
	}
	r.last = f.stream
	answer := r.answer(f.stream, strings.HasPrefix(field(r.fields, "content-type"), "application/grpc"))
	if f.flags&flagEndStream == 0 {
		answer = appendFrame(answer, frameReset, 0, f.stream, make([]byte, 4)) // NO_ERROR
	}
	_, err = r.c.Write(answer)
	return err
}

func (r *refusal) answer(stream uint32, grpc bool) []byte {
	if grpc {
		return r.appendHeaders(nil, stream, flagEndStream,
			":status", "200", "content-type", "application/grpc",
			"grpc-status", "14", "grpc-message", percentEncode(r.text))
	}
	body := r.text + "\n"
	answer := r.appendHeaders(nil, stream, 0,
		":status", "503", "content-type", "text/plain; charset=utf-8", "cache-control", "no-store",
		"retry-after", "5", "content-length", fmt.Sprint(len(body)))
	return appendFrame(answer, frameData, flagEndStream, stream, []byte(body))
}

func (r *refusal) appendHeaders(b []byte, stream uint32, flags byte, pairs ...string) []byte {
	return appendHeaders(b, &r.encoded, r.encoder, stream, flags, pairs...)
}

func appendHeaders(b []byte, buf *bytes.Buffer, e *hpack.Encoder, stream uint32, flags byte, pairs ...string) []byte {
	buf.Reset()
	for i := 0; i < len(pairs); i += 2 {
		e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return appendFrame(b, frameHeaders, flags|flagEndHeaders, stream, buf.Bytes())
}

func field(fields []hpack.HeaderField, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// percentEncode encodes a gRPC message (gRPC over HTTP/2, "Status-Message").
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
