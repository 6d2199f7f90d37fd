package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// MemoryObjects holds objects in memory, by their SHA-1 IDs. It is safe for
// concurrent use.
type MemoryObjects struct {
	mu      sync.RWMutex
	trees   map[ID][]Entry
	entries int // of trees
	blobs   map[ID][]byte
	// encodings keeps the memory in which trees are encoded for the next one.
	encodings sync.Pool
}

var _ Objects = (*MemoryObjects)(nil)

// NewMemory returns an empty store.
func NewMemory() *MemoryObjects {
	return &MemoryObjects{trees: map[ID][]Entry{}, blobs: map[ID][]byte{}}
}

// PutBlob stores a blob and returns its ID. The store keeps content, which the
// caller must not modify afterwards.
func (m *MemoryObjects) PutBlob(content []byte) ID {
	id := HashBlob(content)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blobs[id] = content
	return id
}

// PutTree stores a tree object and returns its ID, which is a SHA-256 one if
// those of the entries are. It sorts entries in Git's order and keeps them: the
// caller must not modify them afterwards. What they name need not be in the
// store. The error matches ErrMalformed if they are no tree that Git would
// write.
func (m *MemoryObjects) PutTree(entries []Entry) (ID, error) {
	if checkOrder(entries) != nil {
		SortEntries(entries)
		if err := checkOrder(entries); err != nil {
			return "", err
		}
	}
	raw, _ := m.encodings.Get().(*[]byte)
	if raw == nil {
		raw = new([]byte)
	}
	defer m.encodings.Put(raw)
	var bad int
	if *raw, bad = appendTree((*raw)[:0], entries); bad >= 0 {
		return "", badID(entries[bad])
	}
	id := hashObject(odb.Tree, *raw, formatOf(entries))
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.trees[id]; !known {
		m.trees[id] = entries
		m.entries += len(entries)
	}
	return id, nil
}

// TreeEntries returns how many entries the trees in the store have together.
func (m *MemoryObjects) TreeEntries() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.entries
}

// Tree returns the entries of a tree object.
func (m *MemoryObjects) Tree(_ context.Context, id ID) ([]Entry, error) {
	entries, ok := m.tree(id)
	if !ok {
		return nil, fmt.Errorf("tree %s: %w", id, ErrNotFound)
	}
	return entries, nil
}

func (m *MemoryObjects) tree(id ID) ([]Entry, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	entries, ok := m.trees[id]
	return entries, ok
}

// Blob opens a blob object.
func (m *MemoryObjects) Blob(_ context.Context, id ID) (io.ReadCloser, int64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	content, ok := m.blobs[id]
	if !ok {
		return nil, 0, fmt.Errorf("blob %s: %w", id, ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
}
