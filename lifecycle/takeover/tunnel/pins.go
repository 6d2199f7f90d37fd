package tunnel

import (
	"crypto/ed25519"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// ErrHostKey is matched by the error of a pod whose agent has another key than before, although its container was not
// started again: something else answers in its place.
var ErrHostKey = errors.New("it is not the agent that it was: its key is another one")

// pins are the keys of agents.
type pins struct {
	mu   sync.Mutex
	keys map[pin]ed25519.PublicKey
}

// pin is one run of a container.
type pin struct {
	pod      types.UID
	restarts int32
}

// check takes over the first key of a run, and refuses others.
func (p *pins) check(of pin, key ed25519.PublicKey) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.keys[of]
	if !ok {
		if p.keys == nil {
			p.keys = map[pin]ed25519.PublicKey{}
		}
		p.keys[of] = key
		return nil
	}
	if !known.Equal(key) {
		return ErrHostKey
	}
	return nil
}

// forget drops the keys of a pod that is gone.
func (p *pins) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.keys {
		if k.pod == uid {
			delete(p.keys, k)
		}
	}
}
