package relay

import (
	"testing"
)

func newTestCredit(shared int64) (*credit, *pool) {
	p := &pool{}
	p.free.Store(shared)
	return newCredit(p, DefaultGuaranteed), p
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
		c := newCredit(p, DefaultGuaranteed)
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
	if n := len(c.packets); n > DefaultGuaranteed/packetCost {
		t.Errorf("%d packets are under way", n)
	}
}

func TestWaitAsksAndEnds(t *testing.T) {
	t.Parallel()
	c, _ := newTestCredit(0)
	c.sent(DefaultGuaranteed - 1000)
	asked := 0
	room, ok := c.wait(func() {
		asked++
		if err := c.report(DefaultGuaranteed - 1000); err != nil {
			t.Error(err)
		}
	})
	if !ok || asked != 1 || room != DefaultGuaranteed-packetCost {
		t.Errorf("%d, %v after %d times asked", room, ok, asked)
	}
	c.sent(DefaultGuaranteed - 100)
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
	c.sent(DefaultGuaranteed - 100)
	for range 3 {
		c.sent(1)
	}
	asked := 0
	_, ok := c.wait(func() {
		asked++
		go func() {
			if err := c.report((DefaultGuaranteed - 100) / 2); err != nil {
				t.Error(err)
			}
		}()
	})
	if !ok || asked != 2 {
		t.Errorf("%v after %d times asked", ok, asked)
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
