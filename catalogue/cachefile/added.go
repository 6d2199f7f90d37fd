package cachefile

import "github.com/pharos-dev/pharos/catalogue"

// added are the values that were put. They lie one behind the other in a few large
// pieces, so that thousands of them cost neither an allocation each nor the
// collector's time. The zero value has none.
type added struct {
	at     map[catalogue.CacheKey]place
	pieces [][]byte
}

type place struct{ piece, start, end int32 }

const pieceSize = 64 << 10

func (a *added) get(key catalogue.CacheKey) ([]byte, bool) {
	p, ok := a.at[key]
	if !ok {
		return nil, false
	}
	return a.pieces[p.piece][p.start:p.end:p.end], true
}

func (a *added) add(key catalogue.CacheKey, value []byte) {
	last := len(a.pieces) - 1
	if last < 0 || len(value) > cap(a.pieces[last])-len(a.pieces[last]) {
		a.pieces = append(a.pieces, make([]byte, 0, max(pieceSize, len(value))))
		last++
	}
	start := len(a.pieces[last])
	a.pieces[last] = append(a.pieces[last], value...)
	if a.at == nil {
		a.at = map[catalogue.CacheKey]place{}
	}
	a.at[key] = place{int32(last), int32(start), int32(start + len(value))}
}
