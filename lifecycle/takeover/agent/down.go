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

// outage begins with the first rejection, and is over when there was none for as long
// as connections wait: nobody knows how the process is then.
type outage struct{ first, last time.Time }

func newDown(away time.Duration) *down {
	return &down{away: away, ports: make(map[uint16]outage)}
}

// wait counts a rejection, and says whether the process may still come back in time.
func (d *down) wait(port uint16) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	o, ok := d.ports[port]
	if !ok || now.Sub(o.last) > d.away {
		o.first = now
	}
	o.last = now
	d.ports[port] = o
	return now.Sub(o.first) < d.away
}

// up ends a port's outage.
func (d *down) up(port uint16) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ports, port)
}
