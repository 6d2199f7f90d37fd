package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/net/http2/hpack"
)

const (
	// maxHeaders is the most that the compressed headers of a request may have, and
	// maxHeader that a name or a value may have.
	maxHeaders = 32 << 10
	maxHeader  = 4 << 10
	// maxRefusals is how many callers are refused at once.
	maxRefusals = 256
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
	fields  headers
	last    uint32 // the newest stream
}

// refuseHTTP2 refuses what comes. With greeted the preface was answered already. It
// does not close c.
func refuseHTTP2(c *caller, text string, greeted bool) {
	r := &refusal{c: c, text: text}
	r.encoder = newEncoder(&r.encoded)
	r.decoder = newDecoder(&r.fields, maxHeader)
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
	f, err := readFrameHead(r.c)
	if err != nil {
		return err
	}
	switch {
	case f.kind == frameHeaders:
		return r.headers(f)
	case f.kind == framePing && f.flags&flagAck == 0:
		var payload [8]byte
		if f.length != len(payload) {
			return errNotHTTP2
		}
		if _, err := io.ReadFull(r.c, payload[:]); err != nil {
			return err
		}
		_, err = r.c.Write(appendFrame(nil, framePing, flagAck, 0, payload[:]))
		return err
	case f.kind == frameGoAway:
		return errRefused
	}
	if err := discard(r.c, f.length); err != nil {
		return err
	}
	if f.kind == frameSettings && f.flags&flagAck == 0 {
		_, err = r.c.Write(appendFrame(nil, frameSettings, flagAck, 0, nil))
	}
	return err
}

// headers takes a request and answers it.
func (r *refusal) headers(f frame) error {
	r.fields = headers{}
	padding, err := r.padding(f)
	if err != nil {
		return err
	}
	body := f.length - padding.before - padding.after
	if body < 0 {
		return errNotHTTP2
	}
	err = r.block(body)
	if err == nil {
		err = discard(r.c, padding.after)
	}
	total := body
	for end := f; err == nil && end.flags&flagEndHeaders == 0; {
		if end, err = readFrameHead(r.c); err != nil {
			return err
		}
		if total += end.length; end.kind != frameContinuation || total > maxHeaders {
			return errNotHTTP2
		}
		err = r.block(end.length)
	}
	if err == nil {
		err = r.decoder.Close()
	}
	if err != nil && !errors.Is(err, hpack.ErrStringLength) {
		return err
	}
	if f.stream <= r.last {
		return err // trailers
	}
	if r.last == 0 {
		r.c.SetDeadline(time.Now().Add(refuseLinger))
	}
	r.last = f.stream
	answer := r.answer(f.stream, strings.HasPrefix(r.fields.contentType, "application/grpc"))
	if f.flags&flagEndStream == 0 {
		answer = appendFrame(answer, frameReset, 0, f.stream, make([]byte, 4)) // NO_ERROR
	}
	// After a field that is too long nobody knows the state of the tables, and this
	// request is the last one.
	_, wrote := r.c.Write(answer)
	return errors.Join(err, wrote)
}

// around is what stands before and behind a HEADERS frame's block, in bytes.
type around struct{ before, after int }

// padding reads what stands before the block.
func (r *refusal) padding(f frame) (around, error) {
	var a around
	if f.flags&flagPadded != 0 {
		a.before++
	}
	if f.flags&flagPriority != 0 {
		a.before += 5
	}
	if a.before > f.length {
		return around{}, errNotHTTP2
	}
	var b [6]byte
	if _, err := io.ReadFull(r.c, b[:a.before]); err != nil {
		return around{}, err
	}
	if f.flags&flagPadded != 0 {
		a.after = int(b[0])
	}
	return a, nil
}

// block decodes the next n bytes of a block.
func (r *refusal) block(n int) error {
	var buf [512]byte
	for n > 0 {
		got, err := r.c.Read(buf[:min(n, len(buf))])
		n -= got
		if _, bad := r.decoder.Write(buf[:got]); bad != nil {
			return bad
		}
		if err != nil {
			return err
		}
	}
	return nil
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
