package agent

import (
	"sync"
	"time"
)

// down knows which ports' processes reject connections, and since when.
type down struct {
	away time.Duration

	mu    sync.Mutex
	ports map[uint16]outage
}

// outage begins with the first connection that was offered and rejected, and is over
// when none was for as long as connections wait: nobody knows how the process is then.
type outage struct {
	first, last time.Time
	up          time.Time // when it was last seen to take one
}

func newDown(away time.Duration) *down {
	return &down{away: away, ports: make(map[uint16]outage)}
}

// wait counts the rejection of a connection that was offered then, and says whether the
// process may still come back in time.
func (d *down) wait(port uint16, offered time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	o := d.ports[port]
	if o.last.IsZero() || offered.Sub(o.last) > d.away {
		o.first = offered
		if o.up.After(offered) {
			o.first = o.up
		}
	}
	o.last = now
	d.ports[port] = o
	return now.Sub(o.first) < d.away
}

// up ends a port's outage.
func (d *down) up(port uint16) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ports[port] = outage{up: time.Now()}
}
