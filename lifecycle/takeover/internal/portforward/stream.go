package portforward

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// longestFrame bounds what is written at once, so that other streams get their turn.
const longestFrame = 64 << 10

// longestMessage bounds what is kept of what the far end says about a port.
const longestMessage = 4 << 10

// Stream is a connection to a port of a pod. Reads and writes may be called side by side, as of any net.Conn; it has
// no deadlines.
type Stream struct {
	conn *Conn
	port uint16
	errs *flow
	data *flow

	once sync.Once
	// told is closed when the far end has said all that it will about the port.
	told    chan struct{}
	message string
}

var _ net.Conn = (*Stream)(nil)

func newStream(c *Conn, port uint16, errs, data *flow) *Stream {
	s := &Stream{conn: c, port: port, errs: errs, data: data, told: make(chan struct{})}
	go func() {
		defer close(s.told)
		message, _ := io.ReadAll(io.LimitReader(errs, longestMessage))
		s.message = strings.TrimSpace(string(message))
		if len(message) == longestMessage {
			c.frames.reset(errs)
		}
	}()
	return s
}

// Read implements net.Conn. It returns an *[Error] instead of io.EOF where the port was not reached, or the connection
// is lost.
func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.data.Read(p)
	if err == nil {
		return n, nil
	}
	select {
	case <-s.told:
		if s.message != "" {
			return n, s.conn.error(s.port, errors.New(s.message))
		}
	case <-time.After(time.Second):
		// It has ended one direction only.
	}
	if err := s.conn.Err(); err != nil && !s.data.isComplete() {
		return n, err
	}
	return n, io.EOF
}

// Write implements net.Conn.
func (s *Stream) Write(p []byte) (int, error) {
	if s.data.isFinished() {
		if err := s.conn.Err(); err != nil {
			return 0, err
		}
		return 0, s.conn.error(s.port, net.ErrClosed)
	}
	written := 0
	for part := range slices.Chunk(p, longestFrame) {
		if err := s.conn.frames.write(s.data, 0, part); err != nil {
			return written, s.conn.error(s.port, err)
		}
		written += len(part)
	}
	return written, nil
}

// CloseWrite says that nothing more will be written.
func (s *Stream) CloseWrite() error {
	return s.conn.frames.finish(s.data)
}

// Close ends both directions. What the far end has not yet read of what was written may be lost.
func (s *Stream) Close() error {
	s.once.Do(func() {
		s.conn.forget(s)
		s.reset()
	})
	<-s.told
	return nil
}

func (s *Stream) reset() {
	s.conn.frames.reset(s.data)
	s.conn.frames.reset(s.errs)
}

// LocalAddr implements net.Conn.
func (s *Stream) LocalAddr() net.Addr { return s.conn.wire.LocalAddr() }

// RemoteAddr implements net.Conn.
func (s *Stream) RemoteAddr() net.Addr { return s.conn.wire.RemoteAddr() }

// SetDeadline returns os.ErrNoDeadline.
func (s *Stream) SetDeadline(time.Time) error { return os.ErrNoDeadline }

// SetReadDeadline returns os.ErrNoDeadline.
func (s *Stream) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// SetWriteDeadline returns os.ErrNoDeadline.
func (s *Stream) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }
