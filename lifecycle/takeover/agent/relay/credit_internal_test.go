package relay

import (
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

func newTestCredit(free int64) (*credit, *pool) {
	p := &pool{}
	p.free.Store(free)
	return newCredit(p), p
}

func nothing() {}

// However many connections stall, one that has nothing under way may send, and all of
// them give back what they borrowed.
func TestStalledConnectionsStarveNobody(t *testing.T) {
	t.Parallel()
	const shared = 1 << 20
	p := &pool{}
	p.free.Store(shared)
	var all []*credit
	for range 3000 {
		c := newCredit(p)
		all = append(all, c)
		for {
			c.mu.Lock()
			room := c.room()
			c.mu.Unlock()
			if room < minRoom {
				break
			}
			c.sent(min(room, 32<<10))
		}
		if c.underway == 0 {
			t.Fatalf("connection %d may send nothing", len(all))
		}
	}
	if free := p.free.Load(); free < 0 {
		t.Errorf("%d bytes more were borrowed than there are", -free)
	}
	for i, c := range all {
		if i%2 == 0 {
			c.close()
			continue
		}
		for len(c.packets) > 0 {
			if err := c.report(c.packets[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if free := p.free.Load(); free != shared {
		t.Errorf("%d of %d bytes came back", free, shared)
	}
}

// Tiny packets count for more than their bytes.
func TestTinyPacketsAreBounded(t *testing.T) {
	t.Parallel()
	c, _ := newTestCredit(0)
	for {
		c.mu.Lock()
		room := c.room()
		c.mu.Unlock()
		if room < minRoom {
			break
		}
		c.sent(1)
	}
	if n := len(c.packets); n > guaranteed/packetCost {
		t.Errorf("%d packets are under way", n)
	}
}

func TestWaitAsksAndEnds(t *testing.T) {
	t.Parallel()
	c, _ := newTestCredit(0)
	c.sent(guaranteed - 1000)
	asked := 0
	room, ok := c.wait(func() {
		asked++
		if err := c.report(guaranteed - 1000); err != nil {
			t.Error(err)
		}
	})
	if !ok || asked != 1 || room != guaranteed-packetCost {
		t.Errorf("%d, %v after %d times asked", room, ok, asked)
	}
	c.sent(guaranteed - 100)
	if _, ok := c.wait(c.close); ok {
		t.Error("closed, and may send")
	}
	if _, ok := c.wait(nothing); ok {
		t.Error("closed, and may send")
	}
}

// A packet that is consumed in parts is asked for until it is consumed.
func TestWaitAsksAgain(t *testing.T) {
	t.Parallel()
	c, _ := newTestCredit(0)
	c.sent(guaranteed - 100)
	for range 3 {
		c.sent(1)
	}
	asked := 0
	_, ok := c.wait(func() {
		asked++
		go func() {
			if err := c.report((guaranteed - 100) / 2); err != nil {
				t.Error(err)
			}
		}()
	})
	if !ok || asked != 2 {
		t.Errorf("%v after %d times asked", ok, asked)
	}
}

// Nothing small is sent while much is under way, and nothing is asked for that is reported by itself.
func TestWaitForWholeFrames(t *testing.T) {
	t.Parallel()
	c, _ := newTestCredit(8 * maxUnderway)
	c.earned = maxUnderway
	for c.room() >= wire.MaxData {
		c.sent(wire.MaxData)
	}
	before := len(c.packets)
	ended := make(chan int)
	go func() {
		room, _ := c.wait(func() { t.Error("it asked") })
		ended <- room
	}()
	for _, n := range []int{wire.MaxData / 2, wire.MaxData / 4, wire.MaxData} {
		if err := c.report(n); err != nil {
			t.Fatal(err)
		}
	}
	if room := <-ended; room < wire.MaxData || len(c.packets) != before-1 {
		t.Errorf("room for %d bytes with %d frames under way, which were %d", room, len(c.packets), before)
	}
}

// A peer that reports what it never got is a broken one.
func TestOverreported(t *testing.T) {
	t.Parallel()
	c, _ := newTestCredit(0)
	c.sent(10)
	if err := c.report(9); err != nil {
		t.Error(err)
	}
	if err := c.report(2); err == nil {
		t.Error("12 of 10 bytes were consumed")
	}
}
