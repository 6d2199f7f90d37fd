package source

import "sync"

// cachedEntries is how many tree entries are kept at most, in two generations:
// some 20 MiB.
const cachedEntries = 1 << 17

// treeCache keeps the trees that were read last: the same ones are read again
// for each image and each commit. It is safe for concurrent use.
type treeCache struct {
	mu         sync.Mutex
	young, old map[ID][]Entry
	entries    int // in young
}

func (c *treeCache) get(id ID) ([]Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, ok := c.young[id]
	if !ok {
		if entries, ok = c.old[id]; ok {
			c.add(id, entries)
		}
	}
	return entries, ok
}

func (c *treeCache) put(id ID, entries []Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(id, entries)
}

func (c *treeCache) add(id ID, entries []Entry) {
	if len(entries) > cachedEntries/2 {
		return
	}
	if c.young == nil || c.entries+len(entries) > cachedEntries/2 {
		c.young, c.old, c.entries = map[ID][]Entry{}, c.young, 0
	}
	c.young[id] = entries
	c.entries += len(entries) + 1 // an empty tree takes space too
}
