package dockerfile

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/moby/buildkit/client"
	digest "github.com/opencontainers/go-digest"
)

// maxTail is how much of a step's output an error quotes.
const maxTail = 16 << 10

// progress prints what BuildKit says of a build as plain lines, in the form of
// "buildctl --progress=plain": each step has a number, which begins its lines.
// It is used by one goroutine at a time.
type progress struct {
	to    io.Writer
	mask  *strings.Replacer
	steps map[digest.Digest]*step
	last  *step // whose lines were printed last
	// failed is the first step that failed by itself.
	failed *step
}

// step is what BuildKit calls a vertex.
type step struct {
	number     int
	name       string
	started    bool
	ended      bool
	partial    map[int][]byte // of a line, by stream
	printed    []byte         // its last lines
	warnedOf   []string
	failedWith string
}

func newProgress(to io.Writer, secrets [][]byte) *progress {
	return &progress{to: to, mask: masking(secrets), steps: map[digest.Digest]*step{}}
}

// minSecret is how many bytes a line of a secret has at least to be blacked out:
// shorter ones are everywhere.
const minSecret = 4

// masking blacks out secrets line by line, since that is how output is printed.
// The longest comes first: of two lines that begin alike, the one that is tried
// first is replaced, and the rest of the other would stay.
func masking(secrets [][]byte) *strings.Replacer {
	var lines []string
	for _, secret := range secrets {
		for line := range bytes.Lines(secret) {
			if line = bytes.TrimSpace(line); len(line) >= minSecret {
				lines = append(lines, string(line))
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, line := range slices.Compact(lines) {
		pairs = append(pairs, line, "***")
	}
	return strings.NewReplacer(pairs...)
}

func (p *progress) show(s *client.SolveStatus) {
	for _, v := range s.Vertexes {
		p.vertex(v)
	}
	for _, l := range s.Logs {
		if at := p.steps[l.Vertex]; at != nil {
			p.log(at, l.Stream, l.Data)
		}
	}
	for _, w := range s.Warnings {
		if at := p.steps[w.Vertex]; at != nil {
			p.warn(at, string(w.Short))
		}
	}
	// What a step ends with comes after what it printed.
	for _, v := range s.Vertexes {
		p.end(v)
	}
}

func (p *progress) vertex(v *client.Vertex) {
	at := p.steps[v.Digest]
	if at == nil {
		at = &step{number: len(p.steps) + 1, name: strings.ReplaceAll(v.Name, "\n", " "), partial: map[int][]byte{}}
		p.steps[v.Digest] = at
	}
	if v.Started != nil && !at.started {
		at.started = true
		p.head(at)
	}
}

func (p *progress) end(v *client.Vertex) {
	at := p.steps[v.Digest]
	if v.Completed == nil || !at.started || at.ended {
		return
	}
	p.flushStep(at)
	at.ended = true
	switch {
	case strings.HasSuffix(v.Error, "context canceled"):
		p.line(at, "CANCELED")
	case v.Error != "":
		at.failedWith = v.Error
		if p.failed == nil {
			p.failed = at
		}
		p.line(at, "ERROR: "+v.Error)
	case v.Cached:
		p.line(at, "CACHED")
	default:
		p.line(at, fmt.Sprintf("DONE %.1fs", v.Completed.Sub(*v.Started).Seconds()))
	}
}

// log takes what a step printed on its output or its standard error. Lines of one are
// not cut by what comes of the other: a secret would not be known in two halves.
func (p *progress) log(at *step, stream int, data []byte) {
	partial := append(at.partial[stream], data...)
	for {
		end := bytes.IndexByte(partial, '\n')
		if end < 0 {
			break
		}
		p.printed(at, partial[:end])
		partial = partial[end+1:]
	}
	at.partial[stream] = partial
}

// printed prints a line of what a step printed. Of one that was written over
// again and again, the last state counts.
func (p *progress) printed(at *step, line []byte) {
	line = bytes.TrimRight(line, "\r")
	if i := bytes.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	text := p.mask.Replace(string(line))
	at.printed = append(append(at.printed, text...), '\n')
	if len(at.printed) > 2*maxTail {
		at.printed = slices.Clone(at.printed[len(at.printed)-maxTail:])
	}
	p.line(at, text)
}

func (p *progress) warn(at *step, text string) {
	if !slices.Contains(at.warnedOf, text) {
		at.warnedOf = append(at.warnedOf, text)
		p.line(at, "WARN: "+text)
	}
}

// head names a step.
func (p *progress) head(at *step) {
	p.last = at
	p.write(fmt.Sprintf("#%d %s", at.number, at.name))
}

// line prints a line of a step, whose name comes first if that of another was
// last.
func (p *progress) line(at *step, text string) {
	if p.last != at {
		p.head(at)
	}
	p.write(fmt.Sprintf("#%d %s", at.number, text))
}

func (p *progress) write(line string) {
	// A reader that is gone does not stop a build.
	_, _ = io.WriteString(p.to, p.mask.Replace(line)+"\n")
}

// flush prints what has no end yet.
func (p *progress) flush() {
	for _, at := range p.steps {
		p.flushStep(at)
	}
}

func (p *progress) flushStep(at *step) {
	for _, stream := range slices.Sorted(maps.Keys(at.partial)) {
		if partial := at.partial[stream]; len(partial) > 0 {
			p.printed(at, partial)
		}
		delete(at.partial, stream)
	}
}

// tail is the end of what a step printed, from the beginning of a line.
func (s *step) tail() string {
	if len(s.printed) <= maxTail {
		return string(s.printed)
	}
	cut := s.printed[len(s.printed)-maxTail:]
	return "…\n" + string(cut[bytes.IndexByte(cut, '\n')+1:])
}
