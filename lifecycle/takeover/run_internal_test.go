package takeover

import (
	"context"
	"errors"
	"testing"
)

// A hand-back that is asked for at the moment when a takeover is ready is heard, or left
// for who listens next: it is never taken and forgotten.
func TestListen(t *testing.T) {
	t.Parallel()
	for range 5000 {
		s := &Session{commands: make(chan command, 1)}
		ctx, heard := s.listen(t.Context())
		s.commands <- command{}
		if !heard() {
			if len(s.waiting) > 0 {
				t.Fatal("a command was taken that nobody obeys")
			}
			<-s.commands // for who listens next
			continue
		}
		if len(s.waiting) != 1 || context.Cause(ctx) == nil {
			t.Fatalf("%d commands wait, and the context ended with %v", len(s.waiting), context.Cause(ctx))
		}
	}
}

// What is asked of one workload of several while they are taken over does not hand all
// of them back: it waits until they are.
func TestListenForOne(t *testing.T) {
	t.Parallel()
	one, other := &part{}, &part{}
	s := &Session{commands: make(chan command), parts: []*part{one, other}}
	ctx, heard := s.listen(t.Context())
	asked := command{parts: []*part{one}, done: make(chan error, 1)}
	s.commands <- asked
	if heard() || errors.Is(context.Cause(ctx), errAsked) {
		t.Error("all is to be handed back")
	}
	if early := s.early(); len(early) != 1 || early[0].done != asked.done {
		t.Errorf("%d wait, want what was asked", len(early))
	}
	ctx, heard = s.listen(t.Context())
	s.commands <- command{parts: []*part{other, one}}
	<-ctx.Done()
	if !heard() {
		t.Error("what names all of them is not for all of them")
	}
}
