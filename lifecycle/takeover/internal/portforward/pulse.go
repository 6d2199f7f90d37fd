package portforward

import (
	"sync"
	"time"
)

// slowest is the link on which silence is not yet a loss, in bytes per second: what was sent may still be on its way, and a
// question waits behind it.
const slowest = 1 << 17

// longestBacklog bounds the time for which what was sent excuses silence.
const longestBacklog = time.Minute

// Pulse tells a peer that is silent from one that was not listened to, or that has much to receive first. It is safe
// for concurrent use; the zero value is ready.
type Pulse struct {
	mu        sync.Mutex
	listening bool
	heard     time.Time
	sent      int64
}

// Listen says that from now on the peer would be heard.
func (p *Pulse) Listen(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.listening {
		p.listening = true
		// The silence before was our own.
		if p.heard.Before(now) {
			p.heard = now
		}
	}
}

// Heard says that something came from the peer. Until the next Listen nobody listens.
func (p *Pulse) Heard(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listening, p.heard, p.sent = false, now, 0
}

// Sent says that this many bytes were given to the network.
func (p *Pulse) Sent(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent += int64(n)
}

// Silent reports whether the peer has been silent for longer than the limit, without an excuse.
func (p *Pulse) Silent(now time.Time, limit time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	backlog := min(time.Duration(p.sent)*time.Second/slowest, longestBacklog)
	return p.listening && now.Sub(p.heard) > limit+backlog
}
