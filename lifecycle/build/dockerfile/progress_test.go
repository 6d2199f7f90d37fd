package dockerfile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/client"
	digest "github.com/opencontainers/go-digest"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := newProgress(&out, [][]byte([][]byte{[]byte("hunter2\nsecond line\n"), []byte("ab")}))
	start := time.Unix(100, 0)
	end := start.Add(1500 * time.Millisecond)
	one, two := digest.FromString("1"), digest.FromString("2")
	for _, s := range []*client.SolveStatus{
		{Vertexes: []*client.Vertex{{Digest: one, Name: "[1/2] FROM base"}, {Digest: two, Name: "[2/2] RUN x\ny"}}},
		{Vertexes: []*client.Vertex{{Digest: one, Name: "[1/2] FROM base", Started: &start}}},
		{Vertexes: []*client.Vertex{{Digest: one, Name: "[1/2] FROM base", Started: &start, Completed: &end, Cached: true}, {Digest: two, Name: "[2/2] RUN x\ny", Started: &start}}},
		{Logs: []*client.VertexLog{{Vertex: two, Data: []byte("hunt")}, {Vertex: two, Data: []byte("er2 is ab\n10%\r20%\r\n")}}},
		{Warnings: []*client.VertexWarning{{Vertex: one, Short: []byte("careful")}, {Vertex: one, Short: []byte("careful")}}},
		{
			Logs:     []*client.VertexLog{{Vertex: two, Data: []byte("the second line")}},
			Vertexes: []*client.Vertex{{Digest: two, Name: "[2/2] RUN x\ny", Started: &start, Completed: &end, Error: "exit code: 1"}},
		},
	} {
		p.show(s)
	}
	p.flush()
	want := `#1 [1/2] FROM base
#2 [2/2] RUN x y
#1 [1/2] FROM base
#1 CACHED
#2 [2/2] RUN x y
#2 *** is ab
#2 20%
#1 [1/2] FROM base
#1 WARN: careful
#2 [2/2] RUN x y
#2 the ***
#2 ERROR: exit code: 1
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if got := p.failed.tail(); got != "*** is ab\n20%\nthe ***\n" {
		t.Errorf("the end of its output is %q", got)
	}
}

// What a step prints on its standard error does not cut a line of its output in two.
func TestProgressOfTwoStreams(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := newProgress(&out, [][]byte{[]byte("hunter2")})
	d, start := digest.FromString("1"), time.Unix(0, 0)
	p.show(&client.SolveStatus{
		Vertexes: []*client.Vertex{{Digest: d, Name: "step", Started: &start}},
		Logs: []*client.VertexLog{
			{Vertex: d, Stream: 1, Data: []byte("it is hun")}, {Vertex: d, Stream: 2, Data: []byte("a warning\nand hunt")},
			{Vertex: d, Stream: 1, Data: []byte("ter2\nthe end")}, {Vertex: d, Stream: 2, Data: []byte("er2")},
		},
	})
	p.flush()
	if d := cmp.Diff("#1 step\n#1 a warning\n#1 it is ***\n#1 the end\n#1 and ***\n", out.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func FuzzProgress(f *testing.F) {
	f.Add("a\nb", "secret\r\n", "secret")
	f.Fuzz(func(t *testing.T, first, second, secret string) {
		var out strings.Builder
		p := newProgress(&out, [][]byte{[]byte(secret)})
		d, start := digest.FromString("1"), time.Unix(0, 0)
		p.show(&client.SolveStatus{
			Vertexes: []*client.Vertex{{Digest: d, Name: "step", Started: &start}},
			Logs:     []*client.VertexLog{{Vertex: d, Data: []byte(first)}, {Vertex: d, Data: []byte(second)}},
		})
		p.flush()
		if !strings.HasSuffix(out.String(), "\n") {
			t.Errorf("no whole line: %q", out.String())
		}
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "#1 ") && !strings.Contains(line, "***") {
				t.Errorf("a line of no step: %q", line)
			}
		}
	})
}

func TestTail(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := newProgress(&out, nil)
	at := &step{number: 1, partial: map[int][]byte{}}
	for range 10_000 {
		p.log(at, 1, []byte("one of many lines\n"))
	}
	tail := at.tail()
	if len(tail) > maxTail+10 || !strings.HasPrefix(tail, "…\none of") || !strings.HasSuffix(tail, "lines\n") {
		t.Errorf("%d bytes: %.40q", len(tail), tail)
	}
}

// Of secrets that begin alike, or hold each other, none is left in part.
func TestMaskingTheLongestSecret(t *testing.T) {
	t.Parallel()
	short, long, longer := "hunter", "hunter2-and-much-more", "say hunter2-and-much-more"
	for _, secrets := range [][]string{{short, long, longer}, {long, short, short}, {longer, long + "\n" + short}} {
		var values [][]byte
		for _, s := range secrets {
			values = append(values, []byte(s))
		}
		mask := masking(values)
		for _, s := range []string{short, long} {
			if got := mask.Replace(s + ", " + s); got != "***, ***" {
				t.Errorf("%q of %q is printed as %q", s, secrets, got)
			}
		}
	}
	if got := masking([][]byte{[]byte(short), []byte(longer), []byte(long)}).Replace(longer); got != "***" {
		t.Errorf("%q is printed as %q", longer, got)
	}
}
