package job

import "bytes"

// maxTail is how much of a log is kept to be quoted, in bytes.
const maxTail = 16 << 10

// tail keeps the last lines of what is written to it.
type tail struct{ last []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	if len(t.last) > 2*maxTail {
		t.last = append(t.last[:0], t.last[len(t.last)-maxTail:]...)
	}
	return len(p), nil
}

// String returns at most maxTail bytes, from the beginning of a line.
func (t *tail) String() string {
	if len(t.last) <= maxTail {
		return string(t.last)
	}
	cut := t.last[len(t.last)-maxTail:]
	return string(cut[bytes.IndexByte(cut, '\n')+1:])
}
