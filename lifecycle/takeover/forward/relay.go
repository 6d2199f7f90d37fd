package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

const (
	// chunk is how much is copied at once.
	chunk = 16 << 10
	// lastWords is how long a client may go on sending to a server that has ended: the container runtime gives it no more.
	lastWords = time.Second
)

// relay copies both ways until both directions have ended, or one was cut off, and closes both sides.
func relay(ctx context.Context, local net.Conn, s *stream, heard func()) error {
	stop := context.AfterFunc(ctx, func() {
		reset(local)
		_ = s.Close()
	})
	defer stop()

	sent := make(chan error, 1)
	go func() {
		err := copyAll(s, local, s.stalls, func() {})
		if err == nil {
			err = s.CloseWrite()
		} else {
			_ = s.Close()
		}
		sent <- err
	}()

	err := copyAll(local, s, s.stalls, heard)
	if err != nil {
		reset(local)
	} else if half, ok := local.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	last := time.AfterFunc(lastWords, func() { _ = local.Close() })
	sendErr := <-sent
	last.Stop()
	_ = s.Close()
	_ = local.Close()
	if err == nil {
		return nil // the answer is whole
	}
	return errors.Join(err, sendErr)
}

// copyAll copies until src ends, calls heard after every part and writes it within writing.
func copyAll(dst io.Writer, src io.Reader, writing func(func() error) error, heard func()) error {
	buf := make([]byte, chunk)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			heard()
			if werr := writing(func() error {
				_, err := dst.Write(buf[:n])
				return err
			}); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// reset closes a connection so that its other end sees that it was cut off.
func reset(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
}
