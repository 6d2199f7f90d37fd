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

// lines writes whole lines, one at a time, of several processes.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// copy copies lines until the end of r.
func (l *lines) copy(r io.Reader) {
	in := bufio.NewReaderSize(r, maxOutput-1)
	for {
		line, err := in.ReadSlice('\n') // of at most the reader's size
		if len(line) > 0 {
			l.write(line)
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

func (l *lines) write(line []byte) {
	if line[len(line)-1] != '\n' {
		line = append(line[:len(line):len(line)], '\n')
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.to.Write(line) // a reader that is gone does not stop the process
}

// splitLines are the lines of a text, each with its end and none too long.
func splitLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			for ; len(line) > maxOutput-1; line = line[maxOutput-1:] {
				if !yield(line[:maxOutput-1] + "\n") {
					return
				}
			}
			if !yield(line) {
				return
			}
		}
	}
}
