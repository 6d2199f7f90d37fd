package guardian

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

const (
	// keptLines and keptBytes bound what is kept of what was printed.
	keptLines, keptBytes = 10_000, 4 << 20
	// longestLine is where a line is cut in two.
	longestLine = 8 << 10
)

func newLogs() *feed[LogLine] {
	return newFeed(keptLines, keptBytes, func(l LogLine) int { return len(l.Text) + 64 })
}

// output returns what takes what a source prints, in whole lines or not.
func (s *Server) output(source string) io.Writer {
	return &lineWriter{line: func(text string) { s.logs.add(LogLine{Time: s.Now().UTC(), Source: source, Text: text}) }}
}

type lineWriter struct {
	line func(string)

	mu   sync.Mutex
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		end := bytes.IndexByte(w.rest, '\n')
		next := end + 1
		if end < 0 || end > longestLine {
			if len(w.rest) <= longestLine {
				return len(p), nil
			}
			end = longestLine
			for end > longestLine-utf8.UTFMax && !utf8.RuneStart(w.rest[end]) {
				end--
			}
			next = end
		}
		w.line(string(bytes.ToValidUTF8(bytes.TrimSuffix(w.rest[:end], []byte("\r")), []byte("\uFFFD"))))
		w.rest = append(w.rest[:0], w.rest[next:]...)
	}
}
