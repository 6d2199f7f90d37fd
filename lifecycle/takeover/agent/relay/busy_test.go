package relay_test

import (
	"io"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
)

// Callers who go away in the middle of what they are told leave nothing behind: the stream goes on, however many they are.
func TestManyGoAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	agent, local := relay.New(), relay.New()
	for i := range 60 {
		j := s.join(t, agent, local, false)
		go func() { _, _ = io.Copy(j.process, endless{}) }()
		if _, err := io.ReadFull(j.caller, make([]byte, 4<<20)); err != nil {
			t.Fatalf("caller %d: %v; the stream: %v", i, err, s.agent.Wait())
		}
		relay.Reset(j.caller)
		<-j.atAgent
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
