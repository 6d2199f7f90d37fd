package odb

import (
	"context"
	"io"
	"slices"
)

const (
	// maxDepth bounds a chain of deltas: git makes none that is longer.
	maxDepth = 4095
	// maxChain bounds the bytes that all objects of a chain have.
	maxChain = 8 << 30
	// keptDeltas bounds the bytes of deltas that are kept on the way to the
	// base. The others are unpacked again.
	keptDeltas = 1 << 20
)

// chain is an object of a pack with what it is made from.
type chain struct {
	pack   *pack
	kind   Kind
	deltas []delta // that of the object itself first; none if it is whole
	// The object that is whole, or one whose content is known.
	base     int64 // where it begins
	baseSize int64
	content  []byte    // if it is known
	whole    *inflater // else: its content
	largest  int64     // of all that has to be unpacked, in bytes
}

type delta struct {
	at, size, result int64
	raw              []byte // with its header; nil if it is not kept
}

// size is that of the object.
func (c *chain) size() int64 {
	if len(c.deltas) > 0 {
		return c.deltas[0].result
	}
	return c.baseSize
}

func (c *chain) close() {
	if c.whole != nil {
		c.whole.close()
		c.whole = nil
	}
}

// follow reads the headers of an object and of its bases. The caller must close
// the chain.
func (p *pack) follow(ctx context.Context, r io.ReaderAt, at int64, known *bases) (chain, error) {
	c := chain{pack: p}
	var want, total, kept int64 // want is the size that the base is to have
	for {
		if len(c.deltas) > 0 {
			if c.kind, c.content = known.get(p, at); c.content != nil {
				c.base, c.baseSize = at, int64(len(c.content))
				break
			}
		}
		e, z, err := p.open(r, at)
		if err != nil {
			return chain{}, err
		}
		if e.kind.valid() {
			c.kind, c.base, c.baseSize, c.whole = e.kind, at, e.size, z
			c.largest = max(c.largest, e.size)
			break
		}
		d := delta{at: at, size: e.size}
		result := want
		want, err = d.read(z, &kept)
		z.close()
		if err == nil && len(c.deltas) > 0 && d.result != result {
			err = corruptf("a delta's base has %d bytes, not %d", d.result, result)
		}
		if err != nil {
			return chain{}, err
		}
		total += d.result
		if total > maxChain || total < 0 || len(c.deltas) == maxDepth {
			return chain{}, corruptf("it is a delta of a delta of a delta, %d deep and of %d bytes", len(c.deltas), total)
		}
		c.largest = max(c.largest, e.size, d.result)
		c.deltas = append(c.deltas, d)
		if e.kind == refDelta && slices.ContainsFunc(c.deltas, func(d delta) bool { return d.at == e.base }) {
			return chain{}, corruptf("it is a delta of itself")
		}
		if err := ctx.Err(); err != nil {
			return chain{}, err
		}
		at = e.base
	}
	if len(c.deltas) > 0 && c.baseSize != want {
		c.close()
		return chain{}, corruptf("a delta's base has %d bytes, not %d", c.baseSize, want)
	}
	return c, nil
}

// read reads the delta if it may be kept, else only its header. It returns the
// size that its base is to have.
func (d *delta) read(z *inflater, kept *int64) (base int64, err error) {
	var head [maxDeltaHeader]byte
	raw := head[:min(d.size, maxDeltaHeader)]
	if *kept += d.size; *kept <= keptDeltas && *kept >= 0 {
		d.raw, err = z.read(nil, d.size)
		raw = d.raw
	} else {
		*kept = keptDeltas
		_, err = io.ReadFull(z, raw)
	}
	if err != nil {
		return 0, short(err)
	}
	base, d.result, _, err = parseDelta(raw)
	return base, err
}

// unpack returns the object's content, in scratch if it has room. The contents
// of bases are kept in known.
func (c *chain) unpack(ctx context.Context, r io.ReaderAt, known *bases, scratch []byte) ([]byte, error) {
	if len(c.deltas) == 0 {
		return c.whole.read(scratch, c.baseSize)
	}
	content := c.content
	if content == nil {
		var err error
		if content, err = c.whole.read(nil, c.baseSize); err != nil {
			return nil, err
		}
		known.put(c.pack, c.base, c.kind, content)
	}
	for i := len(c.deltas) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d := &c.deltas[i]
		raw := d.raw
		if raw == nil {
			_, z, err := c.pack.open(r, d.at)
			if err != nil {
				return nil, err
			}
			raw, err = z.read(nil, d.size)
			z.close()
			if err != nil {
				return nil, err
			}
		}
		_, _, n, err := parseDelta(raw)
		if err != nil {
			return nil, err
		}
		var out []byte
		if i == 0 && int64(cap(scratch)) >= d.result {
			out = scratch[:d.result]
		} else {
			out = make([]byte, d.result)
		}
		if err := applyDelta(out, content, raw[n:]); err != nil {
			return nil, err
		}
		if content = out; i > 0 {
			known.put(c.pack, d.at, c.kind, content)
		}
	}
	return content, nil
}
