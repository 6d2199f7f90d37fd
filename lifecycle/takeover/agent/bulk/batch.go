package bulk

import (
	"bufio"
	"net"
	"sync"
)

// piece is what is read at once, and written at once, if there is as much.
const piece = 128 << 10

// Batch is a connection for TLS. Reads and writes may be called side by side.
type Batch struct {
	net.Conn
	reader *bufio.Reader

	mu      sync.Mutex
	holding bool
	held    []byte
}

// NewBatch returns a Batch over conn.
func NewBatch(conn net.Conn) *Batch {
	return &Batch{Conn: conn, reader: bufio.NewReaderSize(conn, piece)}
}

// Read implements net.Conn.
func (b *Batch) Read(p []byte) (int, error) { return b.reader.Read(p) }

// Write implements net.Conn. Between Hold and Release it holds what is less than a piece.
func (b *Batch) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.holding {
		return b.Conn.Write(p)
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), piece-len(b.held))
		b.held = append(b.held, rest[:n]...)
		rest = rest[n:]
		if len(b.held) == piece {
			if err := b.send(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// Hold has what is written go out together from now on, until Release.
func (b *Batch) Hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holding = true
}

// Release sends what is held.
func (b *Batch) Release() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holding = false
	if len(b.held) == 0 {
		return nil
	}
	return b.send()
}

func (b *Batch) send() error {
	_, err := b.Conn.Write(b.held)
	b.held = b.held[:0]
	return err
}
