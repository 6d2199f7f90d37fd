package job

import (
	"bufio"
	"context"
	"io"
	"maps"
	"strings"
	"sync/atomic"
	"time"
)

// disorder is by how much the times of a log's lines, which come from two streams, may
// shrink.
const disorder = 100 * time.Millisecond

// logCopy is a log that is copied from one connection after the other. Each of its lines
// has its time before it.
type logCopy struct {
	to io.Writer
	// last is the time of the last line that was copied.
	last time.Time
	// recent is how many lines of a time were copied, of those that may come again. The
	// last time alone does not tell which ones: lines can have the same, and times shrink
	// where there are two streams, or a clock is set.
	recent map[int64]int
	// copied is how many lines were.
	copied atomic.Int64
}

// since is from when on the log is needed; "" is from its beginning. An API server knows
// whole seconds only.
func (c *logCopy) since() string {
	if c.last.IsZero() {
		return ""
	}
	return c.last.Add(-disorder).UTC().Truncate(time.Second).Format(time.RFC3339)
}

// read copies the lines that were not copied yet. What has no end of a line is a line if
// the log is complete; else more of it may come.
func (c *logCopy) read(log io.Reader, complete bool) error {
	lines := bufio.NewReader(log)
	known := maps.Clone(c.recent)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF && (line == "" || !complete) {
			return nil
		}
		if err != nil && err != io.EOF {
			return err // what of the line is there comes again
		}
		stamp, text, _ := strings.Cut(line, " ")
		when, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			c.write(line) // what the server has to say itself
			continue
		}
		if at := when.UnixNano(); known[at] > 0 {
			known[at]--
			continue
		}
		c.note(when)
		c.write(text)
	}
}

// note notes that a line of that time is copied.
func (c *logCopy) note(when time.Time) {
	if second := when.Truncate(time.Second); c.recent == nil || second.After(c.last) {
		// A second more, which may be asked for as well.
		from := second.Add(-time.Second).UnixNano()
		kept := map[int64]int{}
		for at, n := range c.recent {
			if at >= from {
				kept[at] = n
			}
		}
		c.recent = kept
	}
	c.last = when
	c.recent[when.UnixNano()]++
	c.copied.Add(1)
}

// write writes a line. A reader that is gone does not stop a build.
func (c *logCopy) write(line string) {
	_, _ = io.WriteString(c.to, strings.TrimSuffix(line, "\n")+"\n")
}

// awaitStandstill returns when nothing new has come for a while after the container's end,
// or when ctx ends.
func (c *logCopy) awaitStandstill(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-ctx.Done():
		return
	}
	for {
		before := c.copied.Load()
		select {
		case <-time.After(logDrain):
		case <-ctx.Done():
			return
		}
		if c.copied.Load() == before {
			return
		}
	}
}
