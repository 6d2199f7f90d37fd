package agent

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

const (
	maxHead = 64 << 10
	maxLine = 4 << 10 // of a chunk's size or a trailer
	// maxBegin is how much of a head says whether it may be one.
	maxBegin = 64
)

var errNotHTTP1 = errors.New("not HTTP/1")

// framing says where the body of a message ends.
type framing struct {
	length  int64
	chunked bool
	close   bool // at the end of the connection
}

// message follows one direction of HTTP/1 byte by byte.
type message struct {
	// begins says whether a head may begin like this. What may not is not held.
	begins func(p []byte) bool
	// head is called with each complete head, with its empty line, and returns the
	// body's framing and what to hand on in the head's place.
	head func(head []byte) (framing, []byte, error)
	// end is called after each whole message.
	end func()

	state messageState
	held  []byte // of a head or a line that is not complete
	left  int64
}

type messageState int

const (
	inHead messageState = iota
	inLength
	inClose
	inChunkSize
	inChunk
	inChunkEnd // the empty line after a chunk
	inTrailer
)

// between says that a message has ended and nothing of the next one came.
func (m *message) between() bool { return m.state == inHead && len(m.held) == 0 }

// feed takes p and calls out with what to hand on. After an error nothing more may
// be fed, and what was held is to be handed on as it is.
func (m *message) feed(p []byte, out func([]byte)) error {
	for len(p) > 0 {
		switch m.state {
		case inHead:
			if len(m.held) < maxBegin && !m.begins(append(m.held[:len(m.held):len(m.held)], p[:min(len(p), maxBegin)]...)) {
				m.held = append(m.held, p...)
				return errNotHTTP1
			}
			head, rest, err := m.until(p, maxHead, headEnd)
			if err != nil || head == nil {
				return err
			}
			p = rest
			frame, instead, err := m.head(head)
			if err != nil {
				out(head)
				m.held = bytes.Clone(p)
				return err
			}
			m.held = nil
			out(instead)
			m.begin(frame)
		case inLength, inChunk:
			n := min(int64(len(p)), m.left)
			out(p[:n])
			p = p[n:]
			m.left -= n
			if m.left > 0 {
				break
			}
			if m.state == inLength {
				m.finish()
			} else {
				m.state = inChunkEnd
			}
		case inClose:
			out(p)
			p = nil
		case inChunkSize, inChunkEnd, inTrailer:
			line, rest, err := m.until(p, maxLine, lineEnd)
			if err != nil || line == nil {
				return err
			}
			p = rest
			out(line)
			err = m.line(bytes.TrimRight(line, "\r\n"))
			m.held = nil
			if err != nil {
				m.held = bytes.Clone(p)
				return err
			}
		}
	}
	return nil
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
	m.state = inHead
	m.end()
}

func (m *message) line(line []byte) error {
	switch {
	case m.state == inChunkEnd && len(line) == 0:
		m.state = inChunkSize
	case m.state == inTrailer && len(line) == 0:
		m.finish()
	case m.state == inTrailer:
	case m.state == inChunkSize:
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(strings.TrimSpace(string(size)), 16, 62)
		if err != nil {
			return errNotHTTP1
		}
		m.state, m.left = inChunk, int64(n)
		if n == 0 {
			m.state = inTrailer
		}
	default:
		return errNotHTTP1
	}
	return nil
}

// until returns what is held and p up to the end that find finds, and the rest of
// p. It holds p and returns nil if there is no end yet.
func (m *message) until(p []byte, limit int, find func(p []byte, from int) int) (whole, rest []byte, err error) {
	all, before := p, len(m.held)
	if before > 0 {
		m.held = append(m.held, p...)
		all = m.held
	}
	end := find(all, max(0, before-3))
	switch {
	case end > 0 && end <= limit:
		return all[:end], p[end-before:], nil
	case len(all) > limit:
		err = errNotHTTP1
	}
	if before == 0 {
		m.held = append(m.held, p...)
	}
	return nil, nil, err
}

// lineEnd returns the index behind the first line of p, -1 if it has no end.
func lineEnd(p []byte, from int) int {
	if i := bytes.IndexByte(p[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return -1
}

// headEnd returns the index behind the first empty line of p that comes after
// another line, -1 if there is none.
func headEnd(p []byte, from int) int {
	for i := from; i < len(p); i++ {
		if p[i] != '\n' {
			continue
		}
		if before := bytes.TrimSuffix(p[:i], []byte("\r")); bytes.HasSuffix(before, []byte("\n")) {
			return i + 1
		}
	}
	return -1
}

// fields calls f with the name and the value of each header field of a head.
func fields(head []byte, f func(name, value string)) {
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	for line := range bytes.Lines(rest) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok {
			f(string(name), strings.TrimSpace(string(value)))
		}
	}
}

// bodyOf returns the framing that a head's fields declare, and whether any do.
func bodyOf(head []byte) (f framing, declared bool, err error) {
	length, coding := "", ""
	fields(head, func(name, value string) {
		switch {
		case strings.EqualFold(name, "Content-Length"):
			if declared && length != "" && length != value {
				err = errNotHTTP1
			}
			length, declared = value, true
		case strings.EqualFold(name, "Transfer-Encoding"):
			coding, declared = coding+","+value, true
		}
	})
	switch {
	case err != nil || !declared:
		return framing{}, false, err
	case coding != "":
		last := strings.TrimSpace(coding[strings.LastIndex(coding, ",")+1:])
		return framing{chunked: strings.EqualFold(last, "chunked"), close: !strings.EqualFold(last, "chunked")}, true, nil
	}
	n, err := strconv.ParseUint(length, 10, 62)
	if err != nil {
		return framing{}, false, errNotHTTP1
	}
	return framing{length: int64(n)}, true, nil
}
