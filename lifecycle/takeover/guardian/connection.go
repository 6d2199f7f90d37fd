package guardian

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// acceptAgain is how long nobody is let in where that failed.
	acceptAgain = 100 * time.Millisecond
	// mostClients may be connected, and mostRequests of one be under way.
	mostClients, mostRequests = 128, 16
)

// accept serves clients until the listener is closed.
func (s *Server) accept(ctx context.Context, clients *sync.WaitGroup) {
	free := make(chan struct{}, mostClients)
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // there are too many open files, perhaps
			s.Log.Warn("accept a client", "err", err)
			select {
			case <-time.After(acceptAgain):
			case <-s.ended:
				return
			}
			continue
		}
		c := &client{Server: s, conn: conn, free: make(chan struct{}, mostRequests)}
		if err := permit(conn); err != nil {
			s.Log.Warn("refuse a client", "err", err)
			_ = conn.Close()
			continue
		}
		select {
		case free <- struct{}{}:
		default:
			clients.Go(func() {
				c.send(Refusal("", fmt.Errorf("%d clients are connected, and no more can be", mostClients)))
				_ = conn.Close()
			})
			continue
		}
		clients.Go(func() {
			defer func() { <-free }()
			stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
			defer stop()
			defer conn.Close()
			if err := c.serve(ctx); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
				s.Log.Debug("answer a client", "err", err)
			}
		})
	}
}

// client is one connection.
type client struct {
	*Server
	conn    net.Conn
	writing sync.Mutex
	own     sync.WaitGroup // its requests
	free    chan struct{}  // has a token for each of them
}

// serve reads requests until the client has no more of them.
func (c *client) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer c.own.Wait()
	defer cancel()
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(nil, longestRequest)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		r, err := ParseRequest(lines.Bytes())
		if err != nil {
			if err := c.send(Refusal(r.ID, err)); err != nil {
				return err
			}
			continue
		}
		// What a client waits for does not keep it from asking for something else, up
		// to a number of things.
		select {
		case c.free <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		if !c.begin() {
			return nil
		}
		c.own.Go(func() {
			defer func() { <-c.free }()
			defer c.asked.Done()
			if err := c.answer(ctx, r); err != nil {
				_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // it does not read: ask it nothing more
			}
		})
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return c.send(Refusal("", fmt.Errorf("the request has more than %d bytes", longestRequest)))
	case err != nil:
		return err
	}
	c.own.Wait() // it asks for nothing more, and may still read
	return nil
}

func (c *client) send(l Line) error {
	l.Version = Version
	doc, err := json.Marshal(l)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.Patience)); err != nil {
		return err
	}
	if _, err = c.conn.Write(append(doc, '\n')); err != nil {
		_ = c.conn.Close() // or each of its requests would be waited for anew
	}
	return err
}
