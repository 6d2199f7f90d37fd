package agent

import (
	"net"
	"sync/atomic"
	"time"
)

// pulse is a connection that closes itself when nothing has come for a while. Any byte
// is a sign of life: a keepalive may be behind much else that the workstation sends.
type pulse struct {
	net.Conn
	away   time.Duration
	life   atomic.Pointer[time.Time] // when the last byte came
	silent *time.Timer
}

func newPulse(conn net.Conn, away time.Duration) *pulse {
	p := &pulse{Conn: conn, away: away, silent: time.AfterFunc(away, func() { conn.Close() })}
	p.live()
	return p
}

// Read implements net.Conn.
func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if n > 0 {
		p.live()
		p.silent.Reset(p.away)
	}
	return n, err
}

func (p *pulse) live() {
	now := time.Now() // with the reading of the monotonic clock, whatever the wall clock is set to
	p.life.Store(&now)
}

// last returns when the last byte came, or when it was made.
func (p *pulse) last() time.Time { return *p.life.Load() }

// stop has it close itself no more. Nobody reads it any more.
func (p *pulse) stop() { p.silent.Stop() }
