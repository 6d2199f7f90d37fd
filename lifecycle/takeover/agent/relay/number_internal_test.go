package relay

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"math"
	"net"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// A number is used once: a stream that has none left ends, and does not take one of a channel that is open, or the one that
// asks for no reply.
func TestNumbersAreUsedOnce(t *testing.T) {
	t.Parallel()
	keys := func() Keys {
		_, own, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return Keys{Own: own, Known: func(ed25519.PublicKey) error { return nil }}
	}
	for name, use := range map[string]func(s *Stream) error{
		"channel": func(s *Stream) error { _, err := s.Open(wire.Connection{Port: 80}); return err },
		"request": func(s *Stream) error { _, _, err := s.Ask(wire.RequestKeepalive, nil); return err },
	} {
		a, b := net.Pipe()
		dialled := make(chan *Stream, 1)
		go func() {
			s, err := Dial(b, keys())
			if err != nil {
				t.Error(err)
			}
			dialled <- s
		}()
		s, err := Accept(a, keys())
		other := <-dialled
		if err != nil || other == nil {
			t.Fatal(err)
		}
		go func() {
			for o := range other.Offers {
				o.Accept()
			}
		}()
		go func() {
			for r := range other.Requests {
				r.Reply(true, nil)
			}
		}()
		s.mu.Lock()
		s.next = math.MaxUint32 - 1
		s.mu.Unlock()
		if err := use(s); err != nil {
			t.Errorf("the last %s: %v", name, err)
		}
		if err := use(s); !errors.Is(err, errSpent) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Wait(); !errors.Is(err, errSpent) {
			t.Errorf("%s: the stream ended with %v", name, err)
		}
		s.Close()
		other.Close()
	}
}
