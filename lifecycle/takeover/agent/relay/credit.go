package relay

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	packetCost = 64      // what a packet counts besides its bytes
	minRoom    = 1 << 10 // less is not worth a packet
	// maxUnderway is of one connection, besides what is guaranteed.
	maxUnderway = 3 << 19
	// firstUnderway is what a connection may borrow before any of it was consumed, at
	// most: one that stalls at once does not take much from the others.
	firstUnderway = 32 << 10
)

var errOverreported = errors.New("more bytes were reported as consumed than were sent")

// pool is what connections may borrow from.
type pool struct{ free atomic.Int64 }

// credit is what one direction of a connection has under way.
type credit struct {
	pool *pool

	mu       sync.Mutex
	changed  sync.Cond
	packets  []int // sent and not consumed, oldest first
	consumed int   // of packets[0]
	underway int   // cost of packets
	earned   int   // consumed so far, at most maxUnderway
	reports  int   // how often some was consumed, also if no packet was as a whole
	closed   bool
}

func newCredit(p *pool) *credit {
	c := &credit{pool: p}
	c.changed.L = &c.mu
	return c
}

// wait returns how many bytes may be sent, or false after close. It calls ask,
// without its lock, each time before it has to wait.
func (c *credit) wait(ask func()) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed {
		room := c.room()
		if room >= wire.MaxData || room >= minRoom && room >= c.underway {
			return room, true
		}
		before := c.reports
		if c.underway-len(c.packets)*packetCost-c.consumed < reportEvery {
			c.mu.Unlock()
			ask()
			c.mu.Lock()
		}
		for c.reports == before && !c.closed {
			c.changed.Wait()
		}
	}
	return 0, false
}

// room returns how many bytes a packet may have now.
func (c *credit) room() int {
	free := max(0, int(c.pool.free.Load()))
	share := max(min(c.earned, free/2), min(firstUnderway, free/256))
	return guaranteed + share - c.underway - packetCost
}

// sent counts a packet. It comes before the packet is written.
func (c *credit) sent(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.packets = append(c.packets, n)
	c.move(n + packetCost)
}

// report counts bytes that the other side consumed.
func (c *credit) report(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.reports++
	c.consumed += n
	c.earned = min(maxUnderway, c.earned+n)
	done := 0
	freed := 0
	for done < len(c.packets) && c.consumed >= c.packets[done] {
		c.consumed -= c.packets[done]
		freed += c.packets[done] + packetCost
		done++
	}
	c.packets = c.packets[:copy(c.packets, c.packets[done:])]
	if len(c.packets) == 0 && c.consumed > 0 {
		return errOverreported
	}
	c.move(-freed)
	c.changed.Signal()
	return nil
}

// close gives back all that is borrowed, and ends wait.
func (c *credit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.packets = nil
	c.move(-c.underway)
	c.changed.Signal()
}

func (c *credit) move(cost int) {
	before := max(0, c.underway-guaranteed)
	c.underway += cost
	c.pool.free.Add(int64(before - max(0, c.underway-guaranteed)))
}
