package guardian

import (
	"context"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// answer does what is asked, and returns only what keeps it from being told.
func (c *client) answer(ctx context.Context, r Request) error {
	var err error
	switch r.Op {
	case OpStatus:
		return c.send(Line{Type: LineStatus, ID: r.ID, Status: c.status()})
	case OpLogs:
		err := stream(ctx, c.logs, r.Follow, func(l LogLine) error { return c.send(Line{Type: LineLog, ID: r.ID, Log: &l}) })
		if err != nil || ctx.Err() != nil {
			return err
		}
	case OpAttach:
		if err := c.send(Line{Type: LineStatus, ID: r.ID, Status: c.status()}); err != nil {
			return err
		}
		err := stream(ctx, c.events, true, func(e takeover.Event) error { return c.send(Line{Type: LineEvent, ID: r.ID, Event: &e}) })
		c.once.Do(func() { close(c.seen) })
		return err
	case OpHandBack:
		err = c.session.HandBack(ctx, r.Workloads...)
	case OpRestart, OpUnpark:
		err = c.session.Restart(ctx, r.Workloads...)
	case OpStop:
		c.stop()
		select {
		case <-c.ended:
		case <-ctx.Done():
		}
	}
	l := Line{Type: LineAnswer, ID: r.ID, Class: takeover.ClassOf(err)}
	if err != nil {
		l.Error = err.Error()
	}
	return c.send(l)
}

func (c *client) status() *Status {
	return &Status{Status: c.session.Status(), PID: c.place.PID, Started: c.place.Started}
}

// stream sends what there is of a feed and, with follow, what comes until it ends.
func stream[T any](ctx context.Context, f *feed[T], follow bool, send func(T) error) error {
	for n := 0; ; {
		items, next, news := f.from(n)
		for _, item := range items {
			if ctx.Err() != nil {
				return nil // however slowly it is read
			}
			if err := send(item); err != nil {
				return err
			}
		}
		if n = next; !follow || news == nil {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}
