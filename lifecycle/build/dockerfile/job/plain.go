package job

import "io"

// plain prints the lines of "buildctl --progress=plain" as those of a BuildKit at an
// address are printed: without the empty lines between steps, the seconds before what
// a step printed, and the report at the end, which the error holds. Each line is a
// Write of its own.
type plain struct {
	to    io.Writer
	ended bool // the report has begun
}

func (p *plain) Write(line []byte) (int, error) {
	text := string(line)
	if text == stepRule+"\n" {
		p.ended = true // what steps print has their number before it
	}
	if p.ended || text == "\n" {
		return len(line), nil
	}
	if m := stepPrinted.FindStringSubmatch(text); m != nil {
		text = "#" + m[1] + " " + text[len(m[0]):]
	}
	_, err := io.WriteString(p.to, text)
	return len(line), err
}
