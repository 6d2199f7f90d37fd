package job

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// stamped is a log of lines at times in milliseconds.
func stamped(lines ...any) string {
	var log strings.Builder
	for i := 0; i < len(lines); i += 2 {
		fmt.Fprintf(&log, "2026-03-01T10:00:%06.3fZ %s\n", float64(lines[i].(int))/1000, lines[i+1])
	}
	return log.String()
}

// Whatever a connection brings before it breaks, each line is copied once and in order.
func TestLogCopy(t *testing.T) {
	log := stamped(100, "a", 100, "b", 900, "c", 1000, "d", 1000, "d", 2500, "e")
	const want = "a\nb\nc\nd\nd\ne\n"
	for cut := range log {
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
			var copied strings.Builder
			c := &logCopy{to: &copied}
			err := c.read(io.MultiReader(strings.NewReader(log[:cut]), iotest.ErrReader(end)), false)
			if want := end; want == io.EOF && err != nil || want != io.EOF && !errors.Is(err, want) {
				t.Fatalf("cut at %d: error %v", cut, err)
			}
			if err := c.read(strings.NewReader(from(log, c.since())), true); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if copied.String() != want || c.copied.Load() != 6 {
				t.Errorf("cut at %d with %v: copied %d lines:\n%s", cut, end, c.copied.Load(), copied.String())
			}
		}
	}
}

// from is what an API server gives of a log since a time.
func from(log, since string) string {
	var rest strings.Builder
	for line := range strings.Lines(log) {
		if line >= strings.TrimSuffix(since, "Z") {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

// Lines of two streams are not always in the order of their times. None is lost, and none
// comes twice.
func TestLogCopyOfTwoStreams(t *testing.T) {
	log := stamped(1700, "a", 2010, "b", 1990, "c", 2010, "d", 2005, "e", 2020, "f", 2015, "g")
	for cut := range log {
		var copied strings.Builder
		c := &logCopy{to: &copied}
		if err := c.read(strings.NewReader(log[:cut]), false); err != nil {
			t.Fatal(err)
		}
		if err := c.read(strings.NewReader(from(log, c.since())), true); err != nil {
			t.Fatal(err)
		}
		if copied.String() != "a\nb\nc\nd\ne\nf\ng\n" {
			t.Errorf("cut at %d: copied\n%s", cut, copied.String())
		}
	}
}

// When the clock of a node is set back, what is printed then is not lost.
func TestLogCopyOfAClockThatIsSet(t *testing.T) {
	var copied strings.Builder
	c := &logCopy{to: &copied}
	log := stamped(59000, "a", 59500, "b", 2000, "c", 2500, "d")
	if err := c.read(strings.NewReader(log), false); err != nil {
		t.Fatal(err)
	}
	if err := c.read(strings.NewReader(from(log, c.since())+stamped(2500, "e")), true); err != nil {
		t.Fatal(err)
	}
	if copied.String() != "a\nb\nc\nd\ne\n" {
		t.Errorf("copied\n%s", copied.String())
	}
}

// The last line of a log need not have an end, and what the server says itself has no
// time.
func TestLogCopyOfOddLines(t *testing.T) {
	var copied strings.Builder
	c := &logCopy{to: &copied}
	log := stamped(100, "a") + "unable to retrieve container logs\n" + strings.TrimSuffix(stamped(200, "b"), "\n")
	if err := c.read(strings.NewReader(log), true); err != nil {
		t.Fatal(err)
	}
	if copied.String() != "a\nunable to retrieve container logs\nb\n" {
		t.Errorf("copied\n%s", copied.String())
	}
}
