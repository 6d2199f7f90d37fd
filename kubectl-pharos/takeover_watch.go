package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// twice is how much later the second Ctrl-C may come.
const twice = 3 * time.Second

// errLeft ends an observer whose session goes on.
var errLeft = errors.New("left")

// observer says what is shown of a session.
type observer struct {
	// detach has it end once all workloads are taken over, and show no logs.
	detach bool
	// since leaves out the events before.
	since time.Time
	// joined says that the session ran already: what it has done before is said with its
	// time.
	joined bool
}

// watch shows what happens to a session until that ends, until somebody has seen enough,
// or, to detach, until all workloads are taken over.
func (s *shared) watch(ctx context.Context, client *guardian.Client, how observer) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)

	p := &takeoverProgress{w: s.ErrOut}
	if how.joined {
		p.since = time.Now()
	}
	served := make(chan struct{}, 1)
	logs := make(chan struct{})
	go func() {
		defer close(logs)
		if !how.detach {
			_ = client.Logs(ctx, true, p.log) // it ends with the session, of which the events tell
		}
	}()
	ended := make(chan error, 1)
	go func() {
		ended <- client.Attach(ctx, nil, func(l guardian.Line) error {
			if l.Event == nil {
				return nil
			}
			if how.since.IsZero() || !l.Event.Time.Before(how.since) || l.Event.Type == takeover.EventFinished {
				p.event(*l.Event)
			}
			if l.Event.Type != takeover.EventServing {
				return nil
			}
			if st, err := client.Status(ctx); err == nil && allTaken(st) {
				select {
				case served <- struct{}{}:
				default:
				}
			}
			return nil
		})
	}()
	err := s.interrupted(ctx, client, p, signals, ended, served, how.detach)
	leave(nil)
	<-logs
	if err == nil {
		err = p.outcome()
	}
	return seenEnough(err)
}

// seenEnough says what helps an observer who was cut off.
func seenEnough(err error) error {
	if errors.Is(err, guardian.ErrCutOff) {
		return notSo("%v\nIt goes on. To see it again: kubectl pharos takeover attach", err)
	}
	return err
}

// allTaken says whether no workload of a session is about to be taken over any more: each
// is served from here, or was.
func allTaken(st guardian.Status) bool {
	return len(st.Workloads) > 0 && !slices.ContainsFunc(st.Workloads, func(w takeover.WorkloadStatus) bool {
		return w.State == takeover.StateUntouched || w.State == takeover.StateDiverting
	})
}

// interrupted waits for the end, and does what Ctrl-C says.
func (s *shared) interrupted(ctx context.Context, client *guardian.Client, p *takeoverProgress, signals <-chan os.Signal, ended <-chan error, served <-chan struct{}, detach bool) error {
	var leave <-chan time.Time
	asked := false
	for {
		select {
		case err := <-ended:
			return err
		case <-served:
			if detach {
				p.line("the workloads are taken over, and stay so. To see what happens: kubectl pharos takeover attach. To hand them back: kubectl pharos handback")
				return errLeft
			}
			p.line("serving. Ctrl-C leaves this and nothing else, Ctrl-C twice hands everything back")
		case sig := <-signals:
			switch {
			case sig == syscall.SIGTERM || asked:
				return s.left(p)
			case leave == nil:
				p.line("Ctrl-C once more hands everything back; else the takeover goes on without this terminal")
				leave = time.After(twice)
			default:
				leave, asked = nil, true
				p.line("handing back; Ctrl-C leaves that to itself")
				go func() { _ = client.HandBack(ctx) }() // the last event says what came of it
			}
		case <-leave:
			return s.left(p)
		}
	}
}

func (s *shared) left(p *takeoverProgress) error {
	p.line("the takeover goes on. To see it again: kubectl pharos takeover attach. To hand back: kubectl pharos handback")
	return errLeft
}

// end is how an observer ended.
func (s *shared) end(err error) error {
	if errors.Is(err, errLeft) {
		return nil
	}
	return err
}

// outcome is the error with which the session ended.
func (p *takeoverProgress) outcome() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := p.last; {
	case e == nil:
		return fmt.Errorf("the process of the takeover has ended without a word: it was killed. Go on with the same command, or hand back: kubectl pharos handback")
	case e.Error == "":
		return nil
	default:
		return unchanged(&guardian.Error{Text: e.Error, Class: e.Class})
	}
}
