package guardian

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNoAnswer is returned where a guardian runs and does not answer: it is stopped,
	// or hangs. It is a *NoAnswerError.
	ErrNoAnswer = errors.New("the process of the takeover does not answer")
	// ErrEnded is returned where a guardian ended before it answered.
	ErrEnded = errors.New("the process of the takeover has ended before it answered")
	// ErrCutOff is returned to who took so long to read that the guardian waited no more.
	// The session goes on.
	ErrCutOff = errors.New("the process of the takeover has gone on without this observer, which did not read for too long")
)

// NoAnswerError says which process does not answer.
type NoAnswerError struct{ PID int }

func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("%v, %d: it is stopped, or hangs\nLet it go on: kill -CONT %[2]d\n"+
		"If that does not help, end it: kill -9 %[2]d. Then go on with the takeover: kubectl pharos takeover. Or hand it back: kubectl pharos handback", ErrNoAnswer, e.PID)
}

// Is reports that it is ErrNoAnswer.
func (e *NoAnswerError) Is(target error) bool { return target == ErrNoAnswer }

func (c *Client) noAnswer() error { return &NoAnswerError{c.place.PID} }

const (
	// answerWithin is how long a guardian may take to say how it is, on a busy machine.
	answerWithin = 15 * time.Second
	// askEvery is how often one is asked that does something which may take long.
	askEvery = 10 * time.Second
)

// whileItAnswers is a context that ends with a *NoAnswerError when the guardian does not
// say how it is twice in a row: once may be since this process itself was stopped. Stop
// has to be called.
func (c *Client) whileItAnswers(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for missed := 0; missed < 2; {
			select {
			case <-time.After(askEvery):
			case <-ctx.Done():
				return
			}
			missed++
			if _, err := c.Status(ctx); !errors.Is(err, ErrNoAnswer) {
				missed = 0 // one that has ended is heard of otherwise
			}
		}
		cancel(c.noAnswer())
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}
