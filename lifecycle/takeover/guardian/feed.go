package guardian

import "sync"

// feed keeps the last items of a kind, for who asks for them later, and tells of new
// ones.
type feed[T any] struct {
	// most bounds how many are kept, and mostBytes how many bytes they have by size.
	most, mostBytes int
	size            func(T) int

	mu    sync.Mutex
	items []T
	bytes int
	// first is the number of items[0]: they count from 0.
	first  int
	closed bool
	// news is closed when there is another item, or none will come.
	news chan struct{}
}

func newFeed[T any](most, mostBytes int, size func(T) int) *feed[T] {
	return &feed[T]{most: most, mostBytes: mostBytes, size: size, news: make(chan struct{})}
}

func (f *feed[T]) add(item T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.items, f.bytes = append(f.items, item), f.bytes+f.size(item)
	for len(f.items) > f.most || f.bytes > f.mostBytes {
		f.bytes -= f.size(f.items[0])
		f.items, f.first = f.items[1:], f.first+1
	}
	close(f.news)
	f.news = make(chan struct{})
}

func (f *feed[T]) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.news)
	}
}

// from returns the items from a number on, the number of the next one, and what tells
// that there are more; nil if none will come.
func (f *feed[T]) from(n int) (items []T, next int, news <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	items = append(items, f.items[min(max(n-f.first, 0), len(f.items)):]...)
	if next = f.first + len(f.items); f.closed {
		return items, next, nil
	}
	return items, next, f.news
}
