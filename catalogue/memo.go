package catalogue

import "sync"

// memo makes a value for each key once. The zero value is empty. It is safe for
// concurrent use.
type memo[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]func() (V, error)
}

// get returns what the first call for the key made. Calls for other keys do not
// wait for it.
func (m *memo[K, V]) get(key K, make func() (V, error)) (V, error) {
	m.mu.Lock()
	once := m.made[key]
	if once == nil {
		if m.made == nil {
			m.made = map[K]func() (V, error){}
		}
		once = sync.OnceValues(make)
		m.made[key] = once
	}
	m.mu.Unlock()
	return once()
}
