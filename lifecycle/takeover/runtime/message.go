package runtime

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strconv"
)

// maxHead bounds what is kept of a message to see where it ends.
const maxHead = 1 << 20

// errNotHTTP is returned for bytes that are no HTTP/1 message.
var errNotHTTP = errors.New("this is no HTTP/1 message")

// part is where in a message its bytes have come to.
type part int

const (
	inHead part = iota
	headEnds
	inBody      // as many bytes as message.left
	inChunkSize // a line with the size of what follows
	inChunk
	afterChunk // an empty line
	inTrailer  // lines, up to an empty one
	untilEnd   // all that comes
	complete
)

// message finds where an HTTP/1 message ends, and changes none of its bytes. See RFC
// 9112. The zero value is ready for a message.
type message struct {
	part part
	head []byte
	line []byte // the part of a line that has come
	left int64
}

// next takes bytes up to the end of the head, after which part is headEnds, up to
// that of the message, after which it is complete, or all.
func (m *message) next(p []byte) (n int, err error) {
	for n < len(p) {
		switch m.part {
		case headEnds, complete:
			return n, nil
		case untilEnd:
			return len(p), nil
		case inBody, inChunk:
			k := int(min(m.left, int64(len(p)-n)))
			n += k
			m.left -= int64(k)
			if m.left == 0 && m.part == inBody {
				m.part = complete
			} else if m.left == 0 {
				m.part = afterChunk
			}
		default:
			i := bytes.IndexByte(p[n:], '\n') + 1
			k := i
			if i == 0 {
				k = len(p) - n
			}
			m.line = append(m.line, p[n:n+k]...)
			n += k
			if len(m.line)+len(m.head) > maxHead {
				return n, errNotHTTP
			}
			if i > 0 {
				if err := m.endLine(); err != nil {
					return n, err
				}
			}
		}
	}
	return n, nil
}

// endLine takes a line that is complete.
func (m *message) endLine() error {
	text := bytes.TrimRight(m.line, "\r\n")
	switch m.part {
	case inHead:
		begun := len(bytes.TrimRight(m.head, "\r\n")) > 0 // an empty line before it is allowed
		m.head = append(m.head, m.line...)
		if begun && len(text) == 0 {
			m.part = headEnds
		}
	case inChunkSize:
		digits, _, _ := bytes.Cut(text, []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
		if err != nil {
			return errNotHTTP
		}
		m.left, m.part = int64(size), inChunk
		if size == 0 {
			m.part = inTrailer
		}
	case afterChunk:
		if len(text) > 0 {
			return errNotHTTP
		}
		m.part = inChunkSize
	case inTrailer:
		if len(text) == 0 {
			m.part = complete
		}
	}
	m.line = m.line[:0]
	return nil
}

// body says what follows the head: chunks, a number of bytes, or, below 0, all until
// the end.
func (m *message) body(encoding []string, length int64) {
	switch {
	case len(encoding) > 0:
		m.part = inChunkSize
	case length < 0:
		m.part = untilEnd
	case length == 0:
		m.part = complete
	default:
		m.part, m.left = inBody, length
	}
}

// request reads the head of a request, and knows where its body ends from then on.
func (m *message) request() (*http.Request, error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(m.trimmed())))
	if err != nil {
		return nil, errNotHTTP
	}
	m.body(r.TransferEncoding, max(0, r.ContentLength))
	return r, nil
}

// response reads the head of a response to a method, and knows where its body ends
// from then on.
func (m *message) response(method string) (*http.Response, error) {
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(m.trimmed())), &http.Request{Method: method})
	if err != nil {
		return nil, errNotHTTP
	}
	m.body(r.TransferEncoding, r.ContentLength)
	if method == http.MethodHead || r.StatusCode < 200 || r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusNotModified {
		m.part = complete
	}
	return r, nil
}

func (m *message) trimmed() []byte { return bytes.TrimLeft(m.head, "\r\n") }

// methods begin a request of HTTP/1.
var methods = [...]string{"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "TRACE "}

// maxLine bounds how much of a first line is waited for.
const maxLine = 64 << 10

// opens says whether a connection that begins so speaks HTTP/1. It is not sure as long
// as more may follow.
func opens(p []byte) (is, sure bool) {
	p = bytes.TrimLeft(p, "\r\n")
	if line, _, ended := bytes.Cut(p, []byte("\n")); ended || len(p) > maxLine {
		return ended && begins(line) && bytes.Contains(line, []byte(" HTTP/1.")), true
	}
	return false, !begins(p)
}

func begins(p []byte) bool {
	for _, m := range methods {
		k := min(len(p), len(m))
		if string(p[:k]) == m[:k] {
			return true
		}
	}
	return false
}
