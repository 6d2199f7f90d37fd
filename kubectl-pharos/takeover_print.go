package main

import (
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// takeoverProgress writes the events of a session as lines.
type takeoverProgress struct {
	w io.Writer
	// since is from when on it is watched: what was before is said with its time, since
	// it may be long over. Zero for who saw the beginning.
	since time.Time

	mu   sync.Mutex
	said map[string]string // what was said last about each workload's pods and forwards
	at   time.Time         // of what is said now
	back map[string]bool   // the workloads that have been put back
	last *takeover.Event   // that of the end
}

func (p *takeoverProgress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	linef(p.w, "%s", text)
}

// log shows a line that a process has printed.
func (p *takeoverProgress) log(l guardian.LogLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = l.Time
	p.say("%s | %s", l.Source, l.Text)
}

// say writes a line about something that happened at p.at.
func (p *takeoverProgress) say(format string, args ...any) {
	before := ""
	if p.at.Before(p.since) {
		before = instant(p.at) + " "
	}
	linef(p.w, "%s", before+fmt.Sprintf(format, args...))
}

func (p *takeoverProgress) event(e takeover.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = e.Time
	say := p.say
	switch e.Type {
	case takeover.EventStarted:
		if e.Resumed {
			say("going on with the takeover of target %s", e.Target)
		}
	case takeover.EventPlanned:
		for _, line := range planLines(*e.Plan) {
			say("%s", line)
		}
	case takeover.EventPublished:
		say("%s: the registry has the agent", e.Workload)
	case takeover.EventLeaseAcquired:
		say("%s: borrowed until %s, and renewed", e.Target, instant(e.Until))
	case takeover.EventForwards:
		p.forwards(e)
	case takeover.EventReady:
		say("%s: ready on this machine", e.Workload)
	case takeover.EventDiverted:
		p.returning(e.Workload, false)
		say("%s: diverted", e.Workload)
	case takeover.EventWaiting:
		p.waiting(e)
	case takeover.EventServing:
		say("%s: served from here", e.Workload)
	case takeover.EventProcess:
		for _, line := range processLines(*e.Process) {
			say("%s", line)
		}
	case takeover.EventConnection:
		if e.Reason != "" {
			say("%s: %s", e.Workload, e.Reason)
		}
	case takeover.EventHeld:
		say("NOTHING IS SERVED NOW: %s", e.Reason)
	case takeover.EventLeaseLost:
		say("LOST THE LEASE: %s", e.Reason)
	case takeover.EventWarning:
		say("warning: %s", strings.TrimPrefix(e.Workload+": "+e.Reason, ": "))
	case takeover.EventUnedited:
		say("%s", e.Reason)
	case takeover.EventRestored:
		p.returning(e.Workload, true)
		say("%s: %s", e.Workload, restoredLine(e))
	case takeover.EventAgentsGone:
		say("%s: no pod has the agent any more", e.Workload)
	case takeover.EventReturned:
		say("%s: free, and as it was delivered", e.Target)
	case takeover.EventFinished:
		p.last = &e
	}
}

// returning keeps whether a workload has been put back.
func (p *takeoverProgress) returning(workload string, is bool) {
	if p.back == nil {
		p.back = map[string]bool{}
	}
	p.back[workload] = is
}

// waiting says what is waited for.
func (p *takeoverProgress) waiting(e takeover.Event) {
	text := e.Reason
	if e.Pods != nil && text == "" {
		text = podsLine(*e.Pods, p.back[e.Workload])
	}
	p.once(e.Workload, strings.TrimPrefix(e.Workload+": "+text, ": "))
}

// podsLine counts the pods of a workload, of one that has been put back those of the
// original first. Pods that terminate are no part of how many there are to be.
func podsLine(n takeover.Pods, back bool) string {
	agents, others := n.Agents-n.AgentsEnding, n.Others-n.OthersEnding
	var text string
	switch {
	case back:
		text = fmt.Sprintf("%d of %d pods have the original again", others, n.Wanted)
		if agents > 0 {
			text += fmt.Sprintf(", %d still the agent", agents)
		}
	default:
		text = fmt.Sprintf("%d of %d pods have the agent", agents, n.Wanted)
		if agents > 0 {
			text += fmt.Sprintf(", of which %d are served from here", n.Connected)
		}
		if others > 0 {
			text += fmt.Sprintf("; %d still have the original", others)
		}
	}
	if n.AgentsEnding > 0 {
		text += fmt.Sprintf("; %d with the agent terminate", n.AgentsEnding)
	}
	if n.OthersEnding > 0 {
		text += fmt.Sprintf("; %d with the original terminate", n.OthersEnding)
	}
	return text
}

// forwards says where Services are, and which of them do not work.
func (p *takeoverProgress) forwards(e takeover.Event) {
	for _, f := range e.Forwards {
		text := e.Workload + ": " + forwardLine(f)
		p.once(e.Workload+" "+f.Service, text)
	}
}

// forwardLine is where a Service is.
func forwardLine(f takeover.ForwardStatus) string {
	text := fmt.Sprintf("%s is at %s", f.Service, f.Address)
	if f.Reason != "" {
		text += ", and does not work: " + f.Reason
	}
	return text
}

// once says something about a thing unless that was said last.
func (p *takeoverProgress) once(about, text string) {
	if p.said[about] == text {
		return
	}
	if p.said == nil {
		p.said = map[string]string{}
	}
	p.said[about] = text
	p.say("%s", text)
}

func restoredLine(e takeover.Event) string {
	text := e.Outcome
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if len(e.Kept) > 0 {
		text += "; somebody else has changed meanwhile, which stays: " + strings.Join(e.Kept, ", ")
	}
	return text
}

// processLines are what happened to a process.
func processLines(e runtime.Event) []string {
	say := func(format string, args ...any) []string {
		return []string{e.Name + ": " + fmt.Sprintf(format, args...)}
	}
	switch e.Type {
	case runtime.EventChanged:
		return say("edited: %s", few(e.Paths))
	case runtime.EventBuilt:
		return say("built in %s", seconds(e.Took))
	case runtime.EventBuildFailed:
		lines := say("the build failed; what ran before goes on")
		if e.PID == 0 {
			lines = say("the build failed, and nothing runs")
		}
		for _, b := range e.Problems {
			lines = append(lines, "  "+problemLine(b))
		}
		return lines
	case runtime.EventReady:
		return say("ready in %s, process %d", seconds(e.Took), e.PID)
	case runtime.EventCrashed:
		if e.Next.IsZero() {
			return say("crashed: %s", e.Reason)
		}
		return say("crashed: %s; it is started again at %s", e.Reason, instant(e.Next))
	case runtime.EventParked:
		return say("PARKED, started no more until an edit, or kubectl pharos takeover restart %s: %s", e.Name, e.Reason)
	case runtime.EventTrouble:
		return say("warning: %s", e.Reason)
	case runtime.EventPolling, runtime.EventWatching, runtime.EventSilent, runtime.EventSignalled:
		return say("%s", e.Reason)
	case runtime.EventStopped:
		if e.Reason != "" {
			return say("ended: %s", e.Reason)
		}
	}
	return nil
}

func problemLine(b runtime.Problem) string {
	if b.File != "" {
		b.File = path.Clean(b.File)
	}
	return b.String()
}

// few are paths for a line.
func few(paths []string) string {
	const most = 3
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}

// planLines are what is taken over.
func planLines(p takeover.Plan) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("target %s, as receipt %s says, at commit %s", p.Target, p.Receipt.Short(), shortID(string(p.Commit)))
	for _, c := range p.Changed {
		say("  image %s: %s", c.Name, c.Reason)
	}
	for _, w := range p.Workloads {
		say("%s, container %s", w.Subject(), w.Container)
		if len(w.Command) > 0 {
			say("  runs        %s", strings.Join(w.Command, " "))
		}
		for i, v := range w.Environment {
			title := ""
			if i == 0 {
				title = "environment"
			}
			say("  %-11s %s, from %s", title, v.Name, v.From)
		}
		for _, f := range w.Forwards {
			say("  reaches     %s", f.Service)
		}
		for _, port := range w.Ports {
			say("  listens     at %d for the container's %d", port.Local, port.Container)
		}
		if w.Returns != "" {
			say("  put back by %s, if everybody else is gone", w.Returns)
		}
	}
	if p.Silence > 0 {
		say("the target's controller puts it back after %s without a sign of life", time.Duration(p.Silence)*time.Second)
	}
	if len(p.Covers) > 0 {
		say("the lease covers %s", strings.Join(p.Covers, ", "))
	} else {
		say("the lease covers all of target %s", p.Target)
	}
	return lines
}
