package golang

import (
	"bytes"
	"io"
	"sync"
)

// maxTail is how much of a failed command's output its error quotes.
const maxTail = 16 << 10

// output shares one writer between commands that run at the same time, by whole
// lines.
type output struct {
	mu sync.Mutex
	to io.Writer
}

func newOutput(to io.Writer) *output { return &output{to: to} }

// writer returns a writer for one command. The path of the private folder is
// taken out of what it prints.
func (o *output) writer(private string) *commandOutput {
	return &commandOutput{shared: o, private: []byte(private)}
}

// commandOutput is the output of one command; os/exec writes to it from one
// goroutine.
type commandOutput struct {
	shared  *output
	private []byte
	partial []byte
	last    []byte
}

func (c *commandOutput) Write(p []byte) (int, error) {
	c.partial = append(c.partial, p...)
	if end := bytes.LastIndexByte(c.partial, '\n') + 1; end > 0 {
		c.emit(c.partial[:end])
		c.partial = append(c.partial[:0], c.partial[end:]...)
	}
	return len(p), nil
}

// flush emits a last line that has no end.
func (c *commandOutput) flush() {
	if len(c.partial) > 0 {
		c.emit(append(c.partial, '\n'))
		c.partial = nil
	}
}

func (c *commandOutput) emit(lines []byte) {
	for _, inside := range []string{"/src/", `\src\`, "/", `\`} {
		lines = bytes.ReplaceAll(lines, append(bytes.Clone(c.private), inside...), nil)
	}
	c.last = append(c.last, lines...)
	if len(c.last) > 2*maxTail {
		c.last = append(c.last[:0], c.last[len(c.last)-maxTail:]...)
	}
	c.shared.mu.Lock()
	defer c.shared.mu.Unlock()
	// A reader that is gone does not stop a build.
	_, _ = c.shared.to.Write(lines)
}

// tail is the end of what was printed, from the beginning of a line.
func (c *commandOutput) tail() string {
	if len(c.last) <= maxTail {
		return string(c.last)
	}
	cut := c.last[len(c.last)-maxTail:]
	return "…\n" + string(cut[bytes.IndexByte(cut, '\n')+1:])
}
