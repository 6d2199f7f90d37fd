package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/pharos-dev/pharos/lifecycle"
)

// narrator prints what happens.
type narrator struct {
	w       io.Writer
	waiting map[string]string // what was said last about each object
}

func (n *narrator) blank() { fmt.Fprintln(n.w) }

// line prints a line of the story, indented below its chapter.
func (n *narrator) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(n.w, "   "+strings.ReplaceAll(text, "\n", "\n   "))
}

// detail prints a line below a line.
func (n *narrator) detail(format string, args ...any) {
	n.line("  %s", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n  "))
}

func (n *narrator) chapter(number int, title, about string) {
	n.blank()
	fmt.Fprintf(n.w, "%d. %s\n", number, title)
	n.line("%s", about)
	n.blank()
}

// event prints what a delivery reports.
func (n *narrator) event(e lifecycle.Event) {
	switch e.Type {
	case lifecycle.EventStepPrepared:
		n.line("prepared %s", e.Step)
	case lifecycle.EventPlanned:
		n.line("plan: %s", e.Plan.Decision)
		for _, r := range e.Plan.Reasons {
			n.detail("%s", r)
		}
	case lifecycle.EventImageReused:
		n.line("reused %s: %s", e.Image.Name, e.Image.Reason)
	case lifecycle.EventImageBuilt:
		n.line("built %s in %.1f s: %s", e.Image.Name, e.Took.Seconds(), shortDigest(e.Image.Digest))
	case lifecycle.EventLeaseAcquired:
		n.line("holds the lease in mode %s", e.Lease.Mode)
	case lifecycle.EventReceiptWritten:
		n.line("wrote receipt %s", e.Receipt.Short())
	case lifecycle.EventObjectApplied:
		if e.Change.Type != lifecycle.ChangeUnchanged {
			n.line("%s %s", e.Change.Type, lifecycle.ObjectName(e.Change.Object))
		}
	case lifecycle.EventDelivered:
		n.waiting = nil
	case lifecycle.EventWaiting:
		n.wait(e.Unready)
	case lifecycle.EventHealthy:
		n.line("healthy")
	}
}

// wait says of each object what it waits for, when that changes.
func (n *narrator) wait(unready []lifecycle.ObjectStatus) {
	said := map[string]string{}
	for _, u := range unready {
		name := lifecycle.ObjectName(u.Object)
		said[name] = u.Reason
		if n.waiting[name] != u.Reason {
			n.line("waiting for %s: %s", name, u.Reason)
		}
	}
	n.waiting = said
}

// commit prints a commit with its changed lines, or with the files alone if
// there are many.
func (n *narrator) commit(message string, changed []string) {
	n.line("$ git commit --all --message %q", message)
	if len(changed) > 12 {
		var names []string
		for _, l := range changed {
			if !strings.HasPrefix(l, "+") && !strings.HasPrefix(l, "-") {
				names = append(names, l)
			}
		}
		changed = names
	}
	for _, l := range changed {
		n.detail("%s", l)
	}
}

// status prints what is on the target.
func (n *narrator) status(st lifecycle.Status) {
	n.line("status of the target %s:", st.Target)
	for _, p := range []struct {
		name    string
		receipt *lifecycle.ReceiptStatus
		means   string
	}{
		{"applied", st.Applied, "what the target was told last"},
		{"live", st.Live, "what it was last healthy at"},
	} {
		if p.receipt == nil {
			n.detail("%-8s nothing", p.name)
			continue
		}
		n.detail("%-8s commit %s, receipt %s: %s", p.name, shortCommit(p.receipt.Record.Commit), p.receipt.ID.Short(), p.means)
	}
	for _, u := range st.Observation.Unready {
		n.detail("%s: %s", lifecycle.ObjectName(u.Object), u.Reason)
	}
	if st.IsLive() {
		n.detail("healthy, undrifted, and at the commit that was applied last")
	}
}

func shortCommit(id string) string { return id[:min(len(id), 12)] }

func shortDigest(d lifecycle.Digest) string {
	hash, _ := strings.CutPrefix(string(d), "sha256:")
	return "sha256:" + hash[:min(len(hash), 12)] + "…"
}
