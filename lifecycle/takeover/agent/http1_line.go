package agent

import "bytes"

const (
	// maxKept is how much is kept of a line's beginning: enough for a method, a status
	// and all that says where a message ends.
	maxKept = 128
	// keptEnd is how much is kept of its end: " HTTP/1.1" and the carriage return.
	keptEnd = 10
)

// line is a line that comes in pieces. It keeps the beginning and the end.
type line struct {
	first  []byte
	last   []byte
	length int
	spaces int
	odd    bool // it has a byte that ends a line for some and not for others
}

// add takes more of the line, without its line feed.
func (l *line) add(p []byte) {
	l.odd = l.odd || len(p) > 0 && l.returned() || bytes.IndexByte(p[:max(0, len(p)-1)], '\r') >= 0 || bytes.IndexByte(p, 0) >= 0
	l.first = append(l.first, p[:min(len(p), maxKept-len(l.first))]...)
	l.last = append(l.last, p[max(0, len(p)-keptEnd):]...)
	l.last = l.last[:copy(l.last, l.last[max(0, len(l.last)-keptEnd):])]
	l.length += len(p)
	l.spaces += bytes.Count(p, []byte(" "))
}

func (l *line) returned() bool { return bytes.HasSuffix(l.last, []byte("\r")) }

// end takes the carriage return away. It returns false if there is none, or if the
// line is not clearly one.
func (l *line) end() bool {
	if l.odd || !l.returned() {
		return false
	}
	l.length--
	l.last = l.last[:len(l.last)-1]
	l.first = l.first[:min(len(l.first), l.length)]
	return true
}

// whole says that first is all of it.
func (l *line) whole() bool { return l.length == len(l.first) }

// reset begins another line.
func (l *line) reset() { *l = line{first: l.first[:0], last: l.last[:0]} }
