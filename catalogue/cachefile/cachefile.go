package cachefile

import (
	"sync"

	"github.com/pharos-dev/pharos/catalogue"
)

// Config says where values are kept.
type Config struct {
	// Path is the file. It need not exist, and neither need its folder, which is
	// made when something is saved. The folder above that has to exist: what is kept
	// in a repository that was deleted meanwhile does not bring it back.
	Path string
	// MaxBytes bounds the file, in bytes. The default is 16 MiB.
	MaxBytes int
}

const defaultMaxBytes = 16 << 20

// File is a cache that a file keeps. It is safe for concurrent use.
type File struct {
	config Config

	mu      sync.Mutex
	content content // of the file
	used    []bool  // which of that
	put     added
}

var _ catalogue.Cache = (*File)(nil)

// Open reads the file. One that cannot be read is as good as none.
func Open(c Config) *File {
	if c.MaxBytes <= 0 {
		c.MaxBytes = defaultMaxBytes
	}
	f := &File{config: c}
	f.hold(read(c))
	return f
}

// hold begins with what the file holds now.
func (f *File) hold(c content) {
	f.content, f.used, f.put = c, make([]bool, c.rows()), added{}
}

// Get returns the value of a key, nil if there is none. The caller does not modify
// it.
func (f *File) Get(key catalogue.CacheKey) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if value, ok := f.put.get(key); ok {
		return value
	}
	i, ok := f.content.find(key)
	if !ok {
		return nil
	}
	f.used[i] = true
	return f.content.value(i)
}

// Put replaces the value of a key by a copy of this one, in memory until it is
// saved.
func (f *File) Put(key catalogue.CacheKey, value []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put.add(key, value)
}
