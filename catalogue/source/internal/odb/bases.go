package odb

import "sync"

const (
	// maxBases is how many bytes of objects are kept that others are deltas of,
	// in two generations; maxBase is how large one of them may be.
	maxBases = 8 << 20
	maxBase  = 1 << 20
)

// bases are objects that others are deltas of. It is safe for concurrent use.
type bases struct {
	mu         sync.Mutex
	young, old map[place]known
	size       int // of young, in bytes
}

type place struct {
	pack *pack
	at   int64
}

type known struct {
	kind    Kind
	content []byte
}

// get returns no content if the object is not among them.
func (b *bases) get(p *pack, at int64) (Kind, []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := place{p, at}
	k, ok := b.young[key]
	if !ok {
		if k, ok = b.old[key]; ok {
			b.add(key, k)
		}
	}
	return k.kind, k.content
}

// put keeps content, which nobody may modify any more.
func (b *bases) put(p *pack, at int64, kind Kind, content []byte) {
	if len(content) > maxBase || len(content) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(place{p, at}, known{kind, content})
}

func (b *bases) add(key place, k known) {
	size := len(k.content) + 100
	if b.young == nil || b.size+size > maxBases/2 {
		b.young, b.old, b.size = map[place]known{}, b.young, 0
	}
	b.young[key] = k
	b.size += size
}

// forget drops what is of packs that are no more.
func (b *bases) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.young, b.old, b.size = nil, nil, 0
}
