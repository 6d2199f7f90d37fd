package agent

import (
	"container/list"
	"context"
	"net"
	"sync"
)

// lobby has the callers who have no place yet: it is not known whether they are
// probes, or all places are taken. Whoever comes gets in, so that probes are answered
// however many callers there are: when it is full the oldest has to go, and a probe has
// said what it wants long before it is that.
type lobby struct {
	most int
	free func() int // places: for each one more may be inside, who is about to take it

	mu     sync.Mutex
	inside list.List // of context.CancelFunc, the oldest first
}

// enter lets a caller in. The context ends with ctx, and when the caller has to go.
func (l *lobby) enter(ctx context.Context) (inside context.Context, leave func()) {
	inside, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.inside.Len() >= l.most+l.free() {
		oldest := l.inside.Front()
		l.inside.Remove(oldest).(context.CancelFunc)()
	}
	e := l.inside.PushBack(cancel)
	return inside, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.inside.Remove(e)
	}
}

// admit lets conn in, which is closed when it has to go.
func (l *lobby) admit(ctx context.Context, conn net.Conn) (leave func()) {
	inside, left := l.enter(ctx)
	keep := context.AfterFunc(inside, func() { conn.Close() })
	return func() {
		keep()
		left()
	}
}
