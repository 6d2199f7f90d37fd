package main

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
)

// TestProgressOfBuilds wants to hear that builds begin, and that those live which
// take long.
func TestProgressOfBuilds(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tc := range []struct {
		verbose bool
		want    string
	}{
		{false, `building web
building api
still building web (10s); --build-output shows what the build tools print
still building web (20s), api (11s)
built web in 21.00 s: sha256:1
still building api (21s)
`},
		{true, `building web
building api
web | step 1
still building web (10s)
web | step 2
still building web (20s), api (11s)
web | the end
built web in 21.00 s: sha256:1
still building api (21s)
`},
	} {
		var out bytes.Buffer
		p := &progress{w: &out, verbose: tc.verbose}
		ticks := make(chan time.Time)
		stop := p.keepAlive(ticks)
		event := func(e lifecycle.EventType, name string, after time.Duration) io.WriteCloser {
			p.event(lifecycle.Event{Type: e, Time: start.Add(after), Image: &lifecycle.ImageStatus{Name: name, Digest: "sha256:1"}, Took: after})
			return p.output(name).(io.WriteCloser)
		}
		write := func(w io.Writer, text string) {
			if n, err := io.WriteString(w, text); n != len(text) || err != nil {
				t.Errorf("wrote %d bytes of %q, %v", n, text, err)
			}
		}
		// A tick that was taken is dealt with when the next one is, or when it stops.
		tick := func(after time.Duration) {
			ticks <- start.Add(after)
			ticks <- start
		}
		web := event(lifecycle.EventImageBuilding, "web", 0)
		api := event(lifecycle.EventImageBuilding, "api", 9*time.Second)
		write(web, "step 1\r\nst")
		tick(9 * time.Second)
		tick(10 * time.Second)
		write(web, "ep 2\n")
		tick(20 * time.Second)
		write(web, "the end")
		if err := web.Close(); err != nil {
			t.Error(err)
		}
		event(lifecycle.EventImageBuilt, "web", 21*time.Second)
		tick(30 * time.Second)
		if err := api.Close(); err != nil { // it failed
			t.Error(err)
		}
		tick(40 * time.Second)
		stop()
		if got := out.String(); got != tc.want {
			t.Errorf("got\n%s\nwant\n%s", got, tc.want)
		}
	}
}
