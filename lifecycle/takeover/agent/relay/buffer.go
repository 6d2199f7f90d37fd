package relay

// buffer is what a direction reads into: small while little comes at once, since
// most connections are idle most of the time, and big while more comes.
type buffer struct {
	small []byte
	big   *[bigBuffer]byte
	full  bool // the last read filled its buffer
}

// next returns a buffer of at most limit bytes.
func (b *buffer) next(r *Relay, limit int) []byte {
	chunk := min(bigBuffer, bigBuffers/int(max(1, r.open.Load())))
	if b.full && chunk > smallBuffer && b.take(r) {
		return b.big[:min(limit, chunk)]
	}
	b.release(r)
	if b.small == nil {
		b.small = make([]byte, smallBuffer)
	}
	return b.small[:min(limit, smallBuffer)]
}

// used says that n of size bytes were read.
func (b *buffer) used(n, size int) { b.full = n == size }

func (b *buffer) take(r *Relay) bool {
	if b.big != nil {
		return true
	}
	if r.taken.Add(1) > bigBuffers/bigBuffer {
		r.taken.Add(-1)
		return false
	}
	b.big = r.buffers.Get().(*[bigBuffer]byte)
	return true
}

func (b *buffer) release(r *Relay) {
	if b.big != nil {
		r.buffers.Put(b.big)
		r.taken.Add(-1)
		b.big = nil
	}
}
