package sweep

import "sync"

// lanes keep a resource whose server, or whose webhook, does not answer from taking
// all that others are ended with: one of its objects is looked at at a time until an
// answer comes. They are safe for concurrent use.
type lanes struct {
	mu sync.Mutex
	of map[uint16]lane // by watch
}

// lane is what is known of a resource.
type lane struct {
	looks    int // that are under way
	troubled bool
}

func newLanes() *lanes { return &lanes{of: map[uint16]lane{}} }

// enter says whether an object of the resource may be looked at now; leave is called
// afterwards.
func (s *lanes) enter(watch uint16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.of[watch]
	if l.troubled && l.looks > 0 {
		return false
	}
	l.looks++
	s.of[watch] = l
	return true
}

// leave takes over what a look came to.
func (s *lanes) leave(watch uint16, is looked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.of[watch]
	l.looks--
	l.troubled = is == unreached
	s.of[watch] = l
}
