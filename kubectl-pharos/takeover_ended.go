package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// leftFields are a takeover of this checkout whose process is gone.
type leftFields struct {
	Session string     `json:"session"`
	Target  string     `json:"target"`
	Began   *time.Time `json:"began,omitempty"`
	endFields
}

// endFields are what became of a takeover on its target; zero while it still has that, or
// where that is not known. At most one is set.
type endFields struct {
	// TakenBack says that somebody else has taken the target back.
	TakenBack *takenBackFields `json:"takenBack,omitempty"`
	// LeaseEnded says that the lease is over without that.
	LeaseEnded *leaseEndedFields `json:"leaseEnded,omitempty"`
}

type takenBackFields struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
}

type leaseEndedFields struct {
	// Time is when; nil where somebody has acquired the target since.
	Time *time.Time `json:"time,omitempty"`
	// HandedBack says that the target knows nothing of the takeover any more: the
	// controller or somebody else has handed it back.
	HandedBack bool `json:"handedBack"`
	// Holder is who has the target now, user@host; empty where it is free.
	Holder string `json:"holder,omitempty"`
}

// toAsk is for how long a target is asked what became of a takeover: what is said without
// that is true, too.
const toAsk = 3 * time.Second

// leftHere is the takeover in a folder whose process is gone; nil if there is none. With
// a target it is looked what became of it there.
func leftHere(ctx context.Context, folder string, on *openedTarget) *leftFields {
	doc, err := takeover.Left(folder)
	if err != nil {
		return nil // there is none, or the next takeover says what is wrong with it
	}
	ctx, cancel := context.WithTimeout(ctx, toAsk)
	defer cancel()
	if _, err := guardian.Connect(ctx, folder); !errors.Is(err, guardian.ErrNotRunning) {
		return nil
	}
	f := &leftFields{Session: doc.Session, Target: doc.Target, Began: timeOf(doc.Began)}
	if on != nil && on.target.Name == doc.Target && on.target.Namespace == doc.Namespace {
		f.endFields = on.endOf(ctx, doc)
	}
	return f
}

// endOf asks a target what became of a takeover there, with one call while that still has
// the lease, and two where it has not.
func (on *openedTarget) endOf(ctx context.Context, doc journal.Document) (f endFields) {
	m, err := standard.NewLease(on.target, on.options)
	if err != nil {
		return f
	}
	state, err := m.Inspect(ctx)
	if err != nil {
		return f
	}
	if f.TakenBack = takenBack(doc, state); f.TakenBack != nil || doc.Token == 0 || state.Held && state.Holder == doc.Holder {
		return f // where it has no token the lease was not acquired yet
	}
	there, err := standard.TakeoverOf(ctx, on.target, on.options)
	if err == nil && there.Session == doc.Session && state.Held && state.Holder == there.Holder {
		return f // its later lease could not be written in this checkout
	}
	f.LeaseEnded = &leaseEndedFields{HandedBack: errors.Is(err, journal.ErrNone) && len(doc.Workloads) > 0}
	switch {
	case state.Held:
		f.LeaseEnded.Holder = state.Who()
	case state.Holder == doc.Holder:
		f.LeaseEnded.Time = timeOf(state.Expires)
	}
	return f
}

// takenBack says who has broken the lease that a session had last.
func takenBack(doc journal.Document, s lease.State) *takenBackFields {
	if s.Broken == nil || s.Broken.Holder != doc.Holder {
		return nil
	}
	return &takenBackFields{By: s.Broken.By, Reason: s.Broken.Reason, Time: s.Broken.At.UTC()}
}

// String says what became of it, and what can be done.
func (f *leftFields) String() string {
	began := ""
	if f.Began != nil {
		began = ", begun " + instant(*f.Began) + ","
	}
	if b := f.TakenBack; b != nil {
		return fmt.Sprintf("the takeover of target %s%s is over: %s took the target back at %s: %s\nClear up what is left of it in this checkout: kubectl pharos handback. Then it can be taken over anew: kubectl pharos takeover",
			f.Target, began, b.By, instant(b.Time), b.Reason)
	}
	if e := f.LeaseEnded; e != nil {
		return fmt.Sprintf("the takeover of target %s%s is served no more: its lease %s: session %s\n%s", f.Target, began, e, f.Session, e.next())
	}
	return fmt.Sprintf("a takeover of target %s%s was interrupted here: session %s\n%s", f.Target, began, f.Session, interruptedNext)
}

// String goes on after "its lease".
func (e *leaseEndedFields) String() string {
	text := "has ended"
	if e.Time != nil {
		text = "ended at " + instant(*e.Time)
	}
	if e.HandedBack {
		text += ", and it was handed back"
	}
	if e.Holder != "" {
		text += ", and " + e.Holder + " has the target now"
	}
	return text
}

// next is what can be done.
func (e *leaseEndedFields) next() string {
	switch {
	case e.Holder != "":
		return "Until when: kubectl pharos lease show. Then go on with it: kubectl pharos takeover. Or clear up what is left of it in this checkout: kubectl pharos handback"
	case e.HandedBack:
		return "Go on with it: kubectl pharos takeover. Or clear up what is left of it in this checkout: kubectl pharos handback"
	}
	return interruptedNext
}

// openedTarget is a target that a command has opened.
type openedTarget struct {
	target  standard.Target
	options standard.Options
}

// goneError is why a takeover cannot be asked whose process is gone.
type goneError struct {
	error
	left *leftFields
}

func (e *goneError) Unwrap() error { return e.error }
