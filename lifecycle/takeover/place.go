package takeover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lookAtPlaceEvery is how often it is looked whether the checkout is still there.
const lookAtPlaceEvery = 3 * time.Second

// place is what has to stay for a session to go on: its checkout, and where its journal
// is.
type place map[string]os.FileInfo

// placeOf is that of these paths as they are now. What is not there is left out.
func placeOf(paths ...string) place {
	p := place{}
	for _, path := range paths {
		if info, err := os.Stat(path); path != "" && err == nil {
			p[path] = info
		}
	}
	return p
}

// gone says what of it is not there any more, or is something else by now; nil if all is.
// What cannot be looked at is taken to be there.
func (p place) gone() error {
	for path, was := range p {
		is, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is not there any more", path)
		case err == nil && !os.SameFile(was, is):
			return fmt.Errorf("%s is not what it was when the takeover began", path)
		}
	}
	return nil
}

// withoutCheckout is for how long an outage is waited for once the checkout is gone: what
// runs on this machine would otherwise stay, where nobody looks for it any more.
const withoutCheckout = 30 * time.Second

// patience is for how long what fails is tried again, of what it would be with a
// checkout; 0 is without an end.
func (s *Session) patience(limit time.Duration) time.Duration {
	if s.orphaned.Load() && (limit <= 0 || limit > withoutCheckout) {
		return withoutCheckout
	}
	return limit
}

// leftAlone says of a hand-back that an outage has ended for want of a checkout what
// becomes of the workloads.
func (s *Session) leftAlone(err error) error {
	if !s.orphaned.Load() || !passes(err) {
		return err
	}
	return fmt.Errorf("the checkout is gone, and the target cannot be reached: nothing runs on this machine any more, and what was taken over is put back once the lease has ended: %w", err)
}

// guard asks for the hand-back of everything when the checkout is deleted, until stop is
// called: nobody could ask for it there any more.
func (s *Session) guard() (stop func()) {
	p := placeOf(s.Root, s.Folder, filepath.Join(s.Folder, lockName), filepath.Join(s.Folder, journalFolder))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-s.Clock.After(lookAtPlaceEvery):
			case <-ctx.Done():
				return
			}
			if err := p.gone(); err != nil {
				s.orphaned.Store(true)
				s.emit(Event{Type: EventWarning, Reason: "everything is handed back, since the checkout is gone: " + err.Error()})
				select {
				case s.commands <- command{done: make(chan error, 1)}:
				case <-ctx.Done():
				}
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
