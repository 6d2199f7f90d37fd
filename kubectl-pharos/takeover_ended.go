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
	// TakenBack says that somebody else has taken the target back; nil if nobody has,
	// or if that is not known.
	TakenBack *takenBackFields `json:"takenBack,omitempty"`
}

type takenBackFields struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
}

// toAsk is for how long a target is asked who has taken it back: what is said without
// that is true, too.
const toAsk = 3 * time.Second

// leftHere is the takeover in a folder whose process is gone; nil if there is none. With
// a target it is looked who has taken that back.
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
	if on == nil || on.target.Name != doc.Target || on.target.Namespace != doc.Namespace {
		return f
	}
	if m, err := standard.NewLease(on.target, on.options); err == nil {
		if state, err := m.Inspect(ctx); err == nil {
			f.TakenBack = takenBack(doc, state)
		}
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
	return fmt.Sprintf("a takeover of target %s%s was interrupted here: session %s\n%s", f.Target, began, f.Session, interruptedNext)
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
