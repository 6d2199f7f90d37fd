package runtime

import (
	"bufio"
	"io"
	"iter"
	"strings"
	"sync"
)

// maxOutput is up to what length a line is written as one.
const maxOutput = 64 << 10

// lines writes whole lines, one at a time, of several processes. The pieces of a long
// one have no ends: what reads them could not know a secret that was cut in two.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// copy copies lines until the end of r.
func (l *lines) copy(r io.Reader) {
	in := bufio.NewReaderSize(r, maxOutput-1)
	inside := false // of a long line
	for {
		line, err := in.ReadSlice('\n') // of at most the reader's size
		switch {
		case err == nil:
			l.write(line)
			inside = false
		case err == bufio.ErrBufferFull:
			l.write(line)
			inside = true
		default:
			if len(line) > 0 || inside {
				l.write(append(line[:len(line):len(line)], '\n'))
			}
			return
		}
	}
}

func (l *lines) write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.to.Write(line) // a reader that is gone does not stop the process
}

// splitLines are the lines of a text, each with its end, and long ones in pieces.
func splitLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			for ; len(line) > maxOutput-1; line = line[maxOutput-1:] {
				if !yield(line[:maxOutput-1]) {
					return
				}
			}
			if !strings.HasSuffix(line, "\n") {
				line += "\n"
			}
			if !yield(line) {
				return
			}
		}
	}
}
