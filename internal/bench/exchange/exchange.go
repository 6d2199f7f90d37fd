package exchange

import (
	"encoding/binary"
	"io"
	"net"
)

// What is asked of the process with the first byte, and how many bytes of it with the next eight.
const (
	Echo = 'e' // to send back what comes, without end
	Take = 't' // to take so many, and to send one when it has
	Give = 'g' // to send so many
)

// Request opens the exchange on a connection.
func Request(c net.Conn, what byte, size int64) error {
	_, err := c.Write(binary.BigEndian.AppendUint64([]byte{what}, uint64(size)))
	return err
}

// Serve is the process, until its listener is closed.
func Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			head := make([]byte, 9)
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			size := int64(binary.BigEndian.Uint64(head[1:]))
			switch head[0] {
			case Echo:
				_, _ = io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, 4<<10))
			case Take:
				if _, err := io.CopyN(io.Discard, c, size); err == nil {
					_, _ = c.Write([]byte{1})
				}
			case Give:
				_, _ = io.CopyN(struct{ io.Writer }{c}, Zeros{}, size)
			}
		}()
	}
}

// Zeros is a reader without end.
type Zeros struct{}

// Read implements io.Reader.
func (Zeros) Read(p []byte) (int, error) { return len(p), nil }
