package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// SessionWatcher ends the sessions of takeovers of one target. *restore.Restorer is one.
type SessionWatcher interface {
	Watch(ctx context.Context, c restore.WatchConfig) error
}

// Takeover is a target whose takeovers the leader ends when their holder is gone.
type Takeover struct {
	// Namespace is that of the target's lease, Target the target's name. They stand in
	// logs and metrics. Required, and together no other takeover's.
	Namespace, Target string
	// Sessions ends them. Required.
	Sessions SessionWatcher
	// Every is how long it sleeps at most. The default is that of
	// restore.WatchConfig.
	Every time.Duration
}

// name is how tasks are told apart.
func (t Takeover) name() string { return "takeover " + t.Namespace + "/" + t.Target }

// takeover is the task of a target.
func (c *Controller) takeover(t Takeover) Task {
	return Task{Name: t.name(), Run: func(ctx context.Context) error {
		defer c.metrics.takeovers.forget(t)
		var n takeoverNews
		return t.Sessions.Watch(ctx, restore.WatchConfig{Every: t.Every, Observed: func(r restore.Report, err error) {
			c.sessionObserved(ctx, t, &n, r, err)
		}})
	}}
}

// sessionObserved tells what a pass came to.
func (c *Controller) sessionObserved(ctx context.Context, t Takeover, n *takeoverNews, r restore.Report, err error) {
	c.metrics.takeovers.observed(t, r, err)
	log := c.config.Log.With("namespace", t.Namespace, "target", t.Target)
	for _, f := range n.in(r, err) {
		log.Log(ctx, f.level, f.message, f.attrs...)
		if f.event == "" || c.config.Events == nil {
			continue
		}
		e := Event{Namespace: t.Namespace, Target: t.Target, Reason: f.event, Warning: f.level >= slog.LevelWarn, Note: f.note}
		if err := c.record(ctx, e); err != nil {
			log.Warn("an Event could not be recorded", "reason", f.event, "err", err)
		}
	}
}

// said is what a pass has to say.
type said struct {
	level   slog.Level
	message string
	attrs   []any
	// event is the reason of the Event that it makes, note its text; empty for none.
	event, note string
}

// takeoverNews keeps what was said, so that what lasts is said once.
type takeoverNews struct {
	failing failing
	// ending says that an Event says what keeps a takeover from being ended, left is the
	// session of which it is said that it is left to others.
	ending bool
	left   string
}

// in returns what is to be said of a pass.
func (n *takeoverNews) in(r restore.Report, err error) (list []said) {
	of := []any{"session", r.Session, "user", r.User, "reason", r.Reason}
	fails, over := n.failing.heard(err)
	if over {
		list = append(list, said{level: slog.LevelInfo, message: "the sessions of takeovers are looked after again"})
	}
	for _, w := range r.Workloads {
		if w.Err == nil { // else it is part of err
			list = append(list, saidOf(w, of))
		}
	}
	was := n.ending
	n.ending = err != nil && (was || r.Reason != "")
	switch {
	case err != nil:
		f := said{level: slog.LevelWarn, message: "the sessions of takeovers could not be looked after", attrs: append(of, "err", err)}
		if n.ending && !was {
			f.event, f.note = "TakeoverNotEnded", fmt.Sprintf("the takeover of %s is over (%s), and could not be ended: %v", cmp.Or(r.User, "somebody"), r.Reason, err)
		}
		if fails || f.event != "" {
			list = append(list, f)
		}
	case r.Done && len(r.Workloads) > 0:
		list = append(list, said{level: slog.LevelInfo, message: "ended a takeover", attrs: of, event: "TakeoverEnded",
			note: fmt.Sprintf("ended the takeover of %s: %s: %s", r.User, r.Reason, strings.Join(outcomes(r.Workloads), "; "))})
	case r.Reason != "" && r.Left != "" && n.left != r.Session:
		n.left = r.Session
		list = append(list, said{level: slog.LevelInfo, message: "a takeover is over", attrs: append(of, "left", r.Left)})
	}
	return list
}

// saidOf is what is to be said of a workload.
func saidOf(w restore.Workload, of []any) said {
	attrs := append(slices.Clip(of), "workload", w.String())
	switch {
	case w.Outcome != divert.OutcomeRestored:
		return said{level: slog.LevelInfo, message: "a workload that was taken over is not touched", attrs: append(attrs, "why", w.Restoration.Reason)}
	case len(w.Kept) > 0:
		return said{level: slog.LevelWarn, message: "put a workload back, but what somebody has changed", attrs: append(attrs, "kept", keptOf(w))}
	}
	return said{level: slog.LevelInfo, message: "put a workload back that was taken over", attrs: attrs}
}

// outcomes says what became of workloads.
func outcomes(list []restore.Workload) (texts []string) {
	for _, w := range list {
		text := w.String() + " " + string(w.Outcome)
		if kept := keptOf(w); kept != "" {
			text += ", but " + kept
		}
		texts = append(texts, text)
	}
	return texts
}

// keptOf names the fields that somebody else has changed.
func keptOf(w restore.Workload) string {
	var fields []string
	for _, k := range w.Kept {
		fields = append(fields, k.Field)
	}
	return strings.Join(fields, ", ")
}
