package takeover

import (
	"context"
)

// answer tells who asked for something what became of it.
func (s *Session) answer(err error) {
	for _, c := range s.early() {
		c.done <- err
	}
	for {
		select {
		case c := <-s.commands:
			c.done <- err
		default:
			return
		}
	}
}

// later keeps what was asked until it is answered.
func (s *Session) later(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, c)
}

// early takes what waited for the end of a takeover.
func (s *Session) early() []command {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.waiting
	s.waiting = nil
	return waiting
}

// collect keeps all that is asked while everything is handed back, until it is stopped.
func (s *Session) collect() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case c := <-s.commands:
				s.later(c)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// listen ends a context when everything is to be handed back, until heard is called,
// which says whether it is. What is asked of one workload of several waits until all
// are taken over.
func (s *Session) listen(ctx context.Context) (_ context.Context, heard func() bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	asked := make(chan bool, 1)
	go func() {
		for {
			select {
			case c := <-s.commands:
				s.later(c)
				if !s.isAll(c) {
					continue
				}
				cancel(errAsked)
				asked <- true
			case <-ctx.Done():
				asked <- false
			}
			return
		}
	}()
	return ctx, func() bool {
		cancel(nil)
		return <-asked
	}
}
