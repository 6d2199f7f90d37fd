package relay

import (
	"sync"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// payloads are buffers for what is received: big ones are used again.
type payloads struct{ big sync.Pool }

func (p *payloads) get(size int) []byte {
	if size < wire.MaxData/2 {
		return make([]byte, size)
	}
	if b, ok := p.big.Get().(*[wire.MaxData]byte); ok {
		return b[:size]
	}
	return make([]byte, size, wire.MaxData)
}

func (p *payloads) put(b []byte) {
	if cap(b) == wire.MaxData {
		p.big.Put((*[wire.MaxData]byte)(b[:wire.MaxData]))
	}
}

// buffer is what a direction reads into: small while little comes at once, since
// most connections are idle most of the time, and big while more comes.
type buffer struct {
	small   []byte
	big     *[bigBuffer]byte
	full    bool // the last read brought much
	allowed bool // one of bigDirections
}

// next returns a buffer of at most limit bytes.
func (b *buffer) next(r *Relay, limit int) []byte {
	size := smallBuffer
	if b.full {
		size = b.most(r)
	}
	if size == bigBuffer {
		b.small = nil
		if b.big == nil {
			b.big = r.buffers.Get().(*[bigBuffer]byte)
		}
		return b.big[:min(limit, size)]
	}
	b.rest(r)
	if len(b.small) != size {
		b.small = make([]byte, size)
	}
	return b.small[:min(limit, size)]
}

// used says that n of size bytes were read: much more than fits in a small buffer, or
// as much as fits, has more behind it.
func (b *buffer) used(n, size int) { b.full = n >= min(size-slack, 2*smallBuffer) }

// most is the size that it may have.
func (b *buffer) most(r *Relay) int {
	if !b.allowed {
		if b.allowed = r.big.Add(1) <= bigDirections; !b.allowed {
			r.big.Add(-1)
			share := othersShare / int(max(1, r.open.Load()))
			size := bigBuffer / 2
			for size > max(share, smallBuffer) {
				size /= 2
			}
			return size
		}
	}
	return bigBuffer
}

// rest gives the big buffer back.
func (b *buffer) rest(r *Relay) {
	if b.big != nil {
		r.buffers.Put(b.big)
		b.big = nil
	}
}

// release ends its use.
func (b *buffer) release(r *Relay) {
	b.rest(r)
	if b.allowed {
		r.big.Add(-1)
	}
}
