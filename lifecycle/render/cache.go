package render

import (
	"bytes"
	"container/list"
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// CacheConfig says where renderings are kept, and how many.
type CacheConfig struct {
	// Dir is a folder for this purpose alone, by its path on this machine; it is
	// made, for this user alone, when something is kept. Several processes may use
	// the same one. It must be on a file system of this machine. Empty keeps
	// renderings in memory only.
	Dir string
	// MaxBytes bounds the bytes of what is kept, in memory and in the folder each.
	// The default is 64 MiB.
	MaxBytes int64
	// MaxEntries bounds the number of renderings that are kept, in memory and in
	// the folder each. The default is 128.
	MaxEntries int
	// Log receives, at debug level, why something could not be kept or read: a
	// cache is no reason to fail. The default discards.
	Log *slog.Logger
}

// Cache keeps renderings. One is used again only for a request that asks for
// the same overlay, images and labels of a tree that answers everything that the
// render asked of it in the same way: the content of files and links, and that
// nothing is at a path. Only successful renders are kept. It is safe for
// concurrent use.
type Cache struct {
	config CacheConfig
	disk   *disk

	mu    sync.Mutex
	bytes int64
	order *list.List // of *kept, the one that was used last in front
	byKey map[requestKey][]*list.Element
}

// kept is a rendering in memory.
type kept struct {
	key       requestKey
	trace     trace
	rendering lifecycle.Rendering
	bytes     int64
}

// NewCache returns an empty cache in front of what the folder holds. It reads
// and writes nothing.
func NewCache(c CacheConfig) *Cache {
	if c.MaxBytes <= 0 {
		c.MaxBytes = 64 << 20
	}
	if c.MaxEntries <= 0 {
		c.MaxEntries = 128
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	cache := &Cache{config: c, order: list.New(), byKey: map[requestKey][]*list.Element{}}
	if c.Dir != "" {
		cache.disk = &disk{dir: c.Dir, maxBytes: c.MaxBytes, maxEntries: c.MaxEntries, log: c.Log}
	}
	return cache
}

// find returns a rendering that the tree would give. The caller may change it.
func (c *Cache) find(ctx context.Context, key requestKey, t source.Tree) (lifecycle.Rendering, bool) {
	c.mu.Lock()
	candidates := slices.Clone(c.byKey[key])
	c.mu.Unlock()
	for _, e := range candidates {
		k := e.Value.(*kept)
		if !k.trace.holds(ctx, t) {
			continue
		}
		c.mu.Lock()
		c.order.MoveToFront(e) // nothing happens to one that was dropped since
		c.mu.Unlock()
		return copied(k.rendering), true
	}
	if c.disk == nil {
		return lifecycle.Rendering{}, false
	}
	tr, rendering, ok := c.disk.find(ctx, key, t)
	if ok {
		c.remember(key, tr, copied(rendering))
	}
	return rendering, ok
}

// add keeps a rendering.
func (c *Cache) add(key requestKey, tr trace, r lifecycle.Rendering) {
	r = copied(r)
	c.remember(key, tr, r)
	if c.disk != nil {
		c.disk.add(key, tr, r)
	}
}

// remember keeps a rendering in memory, and drops those that were used longest
// ago beyond the bounds.
func (c *Cache) remember(key requestKey, tr trace, r lifecycle.Rendering) {
	k := &kept{key: key, trace: tr, rendering: r, bytes: sizeOf(tr, r)}
	if k.bytes > c.config.MaxBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[key] = append(c.byKey[key], c.order.PushFront(k))
	c.bytes += k.bytes
	for c.bytes > c.config.MaxBytes || c.order.Len() > c.config.MaxEntries {
		c.drop(c.order.Back())
	}
}

func (c *Cache) drop(e *list.Element) {
	k := c.order.Remove(e).(*kept)
	c.bytes -= k.bytes
	rest := slices.DeleteFunc(c.byKey[k.key], func(other *list.Element) bool { return other == e })
	if c.byKey[k.key] = rest; len(rest) == 0 {
		delete(c.byKey, k.key)
	}
}

// sizeOf estimates the memory of a rendering: its texts, and as much as Go needs
// for the rest.
func sizeOf(tr trace, r lifecycle.Rendering) int64 {
	const each = 128
	n := each
	for _, f := range tr {
		n += each + len(f.Path)
		for _, l := range f.Names {
			n += each + len(l.Name) + len(l.ID)
		}
	}
	for _, o := range r.Objects {
		n += each + len(o.JSON) + len(o.Namespace) + len(o.Name)
	}
	for _, p := range r.Reads {
		n += each + len(p)
	}
	for _, f := range r.Findings {
		n += each + len(f.Subject) + len(f.Message)
	}
	return int64(n)
}

// copied shares nothing with r that somebody could change.
func copied(r lifecycle.Rendering) lifecycle.Rendering {
	r.Objects = slices.Clone(r.Objects)
	for i := range r.Objects {
		r.Objects[i].JSON = bytes.Clone(r.Objects[i].JSON)
	}
	r.Reads, r.Findings = slices.Clone(r.Reads), slices.Clone(r.Findings)
	return r
}
