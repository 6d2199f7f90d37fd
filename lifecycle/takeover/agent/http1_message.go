package agent

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

var errNotHTTP1 = errors.New("not HTTP/1, or not clear")

// framing says where the body of a message ends.
type framing struct {
	length   int64
	chunked  bool
	close    bool // at the end of the connection
	declared bool // a field says so
}

// message follows one direction of HTTP/1. It holds nothing of what it follows but
// the beginning of a line, however long a head is. What can be read in two ways is an
// error, so that nobody's view of where a message ends is taken for the other's.
type message struct {
	// start is called with each message's first line.
	start func(l *line) error
	// body is called after each head with what its fields declare, and returns the
	// framing of the body.
	body func(f framing) (framing, error)
	// end is called after each whole message.
	end func()
	// blank says that empty lines may come before a message.
	blank bool

	state  messageState
	line   line
	fields fields
	left   int64
}

type messageState int

const (
	inStart messageState = iota
	inFields
	inLength
	inClose
	inChunkSize
	inChunk
	inChunkEnd // the empty line after a chunk
	inTrailer
)

// between says that a message has ended and nothing of the next one came.
func (m *message) between() bool { return m.state == inStart && m.line.length == 0 }

// next follows p, which is not empty, up to where something ends, and returns how many
// bytes that is. started says that it was a message's first line. After an error it
// may not be called again.
func (m *message) next(p []byte) (n int, started bool, err error) {
	switch m.state {
	case inClose:
		return len(p), false, nil
	case inLength, inChunk:
		n := min(int64(len(p)), m.left)
		m.left -= n
		switch {
		case m.left > 0:
		case m.state == inChunk:
			m.state = inChunkEnd
		default:
			m.finish()
		}
		return int(n), false, nil
	}
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		m.line.add(p)
		return len(p), false, nil
	}
	m.line.add(p[:end])
	started, err = m.lineEnded()
	m.line.reset()
	return end + 1, started, err
}

func (m *message) lineEnded() (started bool, err error) {
	if !m.line.end() {
		return false, errNotHTTP1
	}
	empty := m.line.length == 0
	switch m.state {
	case inStart:
		if empty && m.blank {
			return false, nil
		}
		m.state, m.fields = inFields, fields{}
		return true, m.start(&m.line)
	case inFields:
		if !empty {
			return false, m.fields.add(&m.line)
		}
		f, err := m.fields.framing()
		if err == nil {
			f, err = m.body(f)
		}
		if err == nil {
			m.begin(f)
		}
		return false, err
	case inTrailer:
		if empty {
			m.finish()
		}
	case inChunkEnd:
		if !empty {
			return false, errNotHTTP1
		}
		m.state = inChunkSize
	case inChunkSize:
		return false, m.chunk()
	}
	return false, nil
}

func (m *message) begin(f framing) {
	switch {
	case f.chunked:
		m.state = inChunkSize
	case f.close:
		m.state = inClose
	case f.length > 0:
		m.state, m.left = inLength, f.length
	default:
		m.finish()
	}
}

func (m *message) finish() {
	m.state = inStart
	m.end()
}

func (m *message) chunk() error {
	size, _, _ := bytes.Cut(m.line.first, []byte(";"))
	n, err := strconv.ParseUint(strings.TrimRight(string(size), " \t"), 16, 62)
	if err != nil {
		return errNotHTTP1
	}
	m.state, m.left = inChunk, int64(n)
	if n == 0 {
		m.state = inTrailer
	}
	return nil
}

// fields are what a head says of its message's body.
type fields struct {
	length string // of Content-Length
	coding string // of Transfer-Encoding, each with a comma before it
}

// add takes a field. A line that continues the one before, or has no clear name, is an
// error: others read it in other ways (RFC 9112, section 5).
func (f *fields) add(l *line) error {
	name, rest, ok := bytes.Cut(l.first, []byte(":"))
	if !ok || len(name) == 0 || bytes.ContainsAny(name, " \t") {
		return errNotHTTP1
	}
	value := strings.Trim(string(rest), " \t")
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		if !l.whole() || value == "" || f.length != "" && f.length != value {
			return errNotHTTP1
		}
		f.length = value
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		if !l.whole() || len(f.coding)+len(value) > maxKept {
			return errNotHTTP1
		}
		f.coding += "," + value
	}
	return nil
}

// framing is what the fields declare.
func (f *fields) framing() (framing, error) {
	switch {
	case f.coding != "" && f.length != "":
		return framing{}, errNotHTTP1
	case f.coding != "":
		last := strings.Trim(f.coding[strings.LastIndexByte(f.coding, ',')+1:], " \t")
		chunked := strings.EqualFold(last, "chunked")
		return framing{chunked: chunked, close: !chunked, declared: true}, nil
	case f.length != "":
		n, err := strconv.ParseUint(f.length, 10, 62)
		if err != nil {
			return framing{}, errNotHTTP1
		}
		return framing{length: int64(n), declared: true}, nil
	}
	return framing{}, nil
}
