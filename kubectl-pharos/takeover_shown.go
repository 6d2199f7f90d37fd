package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// takeoverFields are a takeover that goes on, as the target itself knows it.
type takeoverFields struct {
	Session   string            `json:"session,omitempty"`
	User      string            `json:"user,omitempty"`
	Since     *time.Time        `json:"since,omitempty"`
	Until     *time.Time        `json:"until,omitempty"`
	Workloads []takenOverFields `json:"workloads,omitempty"`
	// Unknown says why it is not known which workloads there are.
	Unknown string `json:"unknown,omitempty"`
}

type takenOverFields struct {
	Workload  string        `json:"workload"`
	Container string        `json:"container"`
	State     journal.State `json:"state"`
}

// takeoverPurpose begins what the lease of a takeover says that it is for.
const takeoverPurpose = "takeover of "

// handTakeoverBack is what helps who waits for the lease of a takeover: without it, its
// workloads would stay as they are.
const handTakeoverBack = "Hand the takeover back, in the checkout in which it was begun: kubectl pharos handback\n" +
	"From anywhere else, which is said to who has it: kubectl pharos handback --force --reason TEXT"

// notOfTakeover refuses to release a lease that is a takeover's. Who may not read of the
// takeover is not refused: a lease of another purpose has to be released all the same.
func notOfTakeover(ctx context.Context, t standard.Target, so standard.Options, l lease.State) error {
	doc, err := standard.TakeoverOf(ctx, t, so)
	if err == nil && l.Held && doc.Holder == l.Holder {
		return &lifecycle.BlockedError{Reason: fmt.Sprintf("the lease of target %q belongs to the takeover of %s, which is handed back with it or not at all", t.Name, doc.User),
			Holder: l.Who(), Mode: string(l.Mode), Until: l.Expires, Next: handTakeoverBack}
	}
	return nil
}

// takeoverOn is the takeover for which a target is borrowed; nil where it is free, or
// borrowed for something else. Who may not read the session is told what the lease says.
func takeoverOn(ctx context.Context, t standard.Target, so standard.Options, l lease.State) *takeoverFields {
	if !l.Held || l.Mode != lease.ModeBorrow {
		return nil
	}
	f := &takeoverFields{User: l.User, Since: timeOf(l.Acquired), Until: timeOf(l.Expires)}
	doc, err := standard.TakeoverOf(ctx, t, so)
	switch {
	case errors.Is(err, journal.ErrNone):
		return nil
	case err != nil && !strings.HasPrefix(l.Purpose, takeoverPurpose):
		return nil
	case err != nil:
		f.Unknown = err.Error()
		return f
	}
	f.Session, f.User, f.Since = doc.Session, doc.User, timeOf(doc.Began)
	for _, w := range doc.Workloads {
		f.Workloads = append(f.Workloads, takenOverFields{w.Diversion.String(), w.Diversion.Container, w.State})
	}
	return f
}

// lines are the takeover for people; none where there is none.
func (f *takeoverFields) lines() []string {
	if f == nil {
		return nil
	}
	head := "by " + f.User
	if f.Since != nil {
		head += " since " + instant(*f.Since)
	}
	if f.Until != nil {
		head += ", until " + instant(*f.Until) + " unless it is renewed"
	}
	lines := []string{head}
	for _, w := range f.Workloads {
		lines = append(lines, fmt.Sprintf("%s, container %s: %s", w.Workload, w.Container, w.State))
	}
	if f.Unknown != "" {
		lines = append(lines, "which workloads is not known: "+f.Unknown)
	}
	return lines
}

// instant is a time for people, in the one form that all commands have.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// timeOf is a time for programs; nil for none.
func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
