package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
)

// progress writes the events of a delivery as lines.
type progress struct {
	w       io.Writer
	verbose bool

	mu      sync.Mutex
	waiting map[string]string // what was said last about each object
	builds  []begun           // those under way, in their order
	hinted  bool              // that there is more to see
}

func (p *progress) event(e lifecycle.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case lifecycle.EventLeaseAwaited:
		linef(p.w, "waiting for the lease: %s", leaseLine(*e.Lease))
	case lifecycle.EventRendered:
		for _, f := range e.Findings {
			linef(p.w, "warning: %s: %s", f.Subject, f.Message)
		}
	case lifecycle.EventStepPrepared:
		if e.Written == 0 {
			linef(p.w, "prepared already: %s", e.Step)
			break
		}
		linef(p.w, "prepared %s", e.Step)
	case lifecycle.EventPlanned:
		linef(p.w, "%s: %s", e.Target, e.Plan.Decision)
		for _, r := range e.Plan.Reasons {
			linef(p.w, "  %s", r)
		}
		if e.Plan.Blocked != "" {
			linef(p.w, "  blocked now: %s", e.Plan.Blocked)
		}
	case lifecycle.EventImageBuilding:
		p.builds = append(p.builds, begun{e.Image.Name, e.Time})
		linef(p.w, "building %s", e.Image.Name)
	case lifecycle.EventImageBuilt:
		linef(p.w, "built %s in %s: %s", e.Image.Name, seconds(e.Took), e.Image.Digest)
	case lifecycle.EventImageReused:
		linef(p.w, "reused %s: %s", e.Image.Name, e.Image.Reason)
	case lifecycle.EventReceiptWritten:
		linef(p.w, "recorded receipt %s", e.Receipt.Short())
	case lifecycle.EventObjectApplied:
		if e.Change.Type != lifecycle.ChangeUnchanged {
			linef(p.w, "%s %s", e.Change.Type, lifecycle.ObjectName(e.Change.Object))
		}
	case lifecycle.EventWaiting:
		p.wait(e.Unready)
	case lifecycle.EventGateOpened:
		for _, line := range e.Gate.Opened {
			linef(p.w, "opened %s", line)
		}
	case lifecycle.EventHealthy:
		linef(p.w, "healthy")
	}
}

// wait says of each object what it waits for, once.
func (p *progress) wait(unready []lifecycle.ObjectStatus) {
	said := map[string]string{}
	for _, u := range unready {
		name := lifecycle.ObjectName(u.Object)
		said[name] = u.Reason
		if p.waiting[name] != u.Reason {
			linef(p.w, "waiting for %s: %s", name, u.Reason)
		}
	}
	p.waiting = said
}

// output shows what the tools print, each line with the image's name, if that is
// wanted, and notices when the build has ended.
func (p *progress) output(image string) io.Writer { return &prefixed{p: p, image: image} }

type prefixed struct {
	p     *progress
	image string
	rest  []byte
}

func (w *prefixed) Write(data []byte) (int, error) {
	if !w.p.verbose {
		return len(data), nil
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.rest = append(w.rest, data...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(data), nil
		}
		w.line(w.rest[:i])
		w.rest = w.rest[i+1:]
	}
}

func (w *prefixed) line(data []byte) {
	linef(w.p.w, "%s | %s", w.image, bytes.TrimSuffix(data, []byte("\r")))
}

// Close shows a last line that has no end.
func (w *prefixed) Close() error {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if len(w.rest) > 0 {
		w.line(w.rest)
	}
	w.p.builds = slices.DeleteFunc(w.p.builds, func(b begun) bool { return b.image == w.image })
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func shortID(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	return id[:min(len(id), 12)]
}
