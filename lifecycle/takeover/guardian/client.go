package guardian

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// Error is what a guardian answered that was asked for something.
type Error struct {
	Text string
	// Class is that of the Line.
	Class string
}

func (e *Error) Error() string { return e.Text }

// Is reports that it is the error of its class.
func (e *Error) Is(target error) bool {
	return target != nil && target == takeover.ErrorOf(e.Class)
}

// Client asks a guardian. It is safe for concurrent use: each call has a connection of
// its own.
type Client struct{ place place }

// Connect finds the guardian of a folder, and asks it for its status. The error matches
// ErrNotRunning if there is none.
func Connect(ctx context.Context, folder string) (*Client, error) {
	p, err := find(folder)
	if err != nil {
		return nil, err
	}
	c := &Client{p}
	switch _, err := c.Status(ctx); {
	case errors.Is(err, ErrEnded):
		return nil, ErrNotRunning // it was killed just now
	case err != nil:
		return nil, err
	}
	return c, nil
}

// PID is the process of the guardian.
func (c *Client) PID() int { return c.place.PID }

// Status returns how the guardian and its session are. The error matches ErrNoAnswer if
// it does not say so within answerWithin.
func (c *Client) Status(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, c.noAnswer())
	defer cancel()
	var st *Status
	err := c.exchange(ctx, Request{Op: OpStatus}, func(l Line) error {
		st = l.Status
		return nil
	})
	if err == nil && st == nil {
		err = fmt.Errorf("%w: process %d", ErrEnded, c.place.PID)
	}
	if err != nil {
		return Status{}, err
	}
	return *st, nil
}

// Logs gives what was printed to line, and with follow what is printed until the
// session ends, or ctx. The error matches ErrCutOff if line took so long that the guardian
// waited no more.
func (c *Client) Logs(ctx context.Context, follow bool, line func(LogLine)) error {
	all := false
	err := c.ask(ctx, Request{Op: OpLogs, Follow: follow}, func(l Line) error {
		if l.Log != nil {
			line(*l.Log)
		}
		all = all || l.Type == LineAnswer
		return nil
	})
	if err != nil || all {
		return err
	}
	return c.cutOff(ctx)
}

// cutOff is ErrCutOff if the guardian is there still that says nothing more.
func (c *Client) cutOff(ctx context.Context) error {
	if _, err := c.Status(context.WithoutCancel(ctx)); err == nil {
		return ErrCutOff
	}
	return nil
}

// HandBack hands these workloads back, all without a name, and returns when that is
// done.
func (c *Client) HandBack(ctx context.Context, workloads ...string) error {
	return c.ask(ctx, Request{Op: OpHandBack, Workloads: workloads}, nil)
}

// Restart starts the processes of these workloads anew, of all without a name; one that
// is parked, too. It returns when the new ones are ready; an error of the class "source"
// is what keeps them from it.
func (c *Client) Restart(ctx context.Context, workloads ...string) error {
	return c.ask(ctx, Request{Op: OpRestart, Workloads: workloads}, nil)
}

// Stop ends the guardian, and leaves the session as it is.
func (c *Client) Stop(ctx context.Context) error {
	return c.ask(ctx, Request{Op: OpStop}, nil)
}

// Attach gives the status, all events so far, and those that come to line, until the
// session ends, or ctx, which is no error. Requests are sent as they come, until that
// is closed; nil sends none. An error of line ends it, and is returned. The error matches
// ErrNoAnswer if the guardian is stopped meanwhile, and ErrCutOff if line took so long
// that the guardian waited no more.
func (c *Client) Attach(ctx context.Context, requests <-chan Request, line func(Line) error) error {
	ctx, stop := c.whileItAnswers(ctx)
	defer stop()
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := make(chan error, 1)
	go func() {
		err := send(conn, Request{Op: OpAttach})
		for err == nil {
			select {
			case r, ok := <-requests:
				if !ok {
					requests = nil
					continue
				}
				err = send(conn, r)
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		sent <- err
	}()
	finished := false
	err = receive(ctx, conn, func(l Line) error {
		finished = finished || l.Event != nil && l.Event.Type == takeover.EventFinished
		return line(l)
	})
	over := context.Cause(ctx)
	cancel()
	_ = conn.SetWriteDeadline(time.Unix(1, 0))
	<-sent
	switch {
	case errors.Is(over, ErrNoAnswer):
		return over
	case err != nil || over != nil || finished:
		return err
	}
	return c.cutOff(ctx)
}

// ask is exchange for what may take long: it goes on as long as the guardian answers.
func (c *Client) ask(ctx context.Context, r Request, line func(Line) error) error {
	ctx, stop := c.whileItAnswers(ctx)
	defer stop()
	return c.exchange(ctx, r, line)
}

// exchange sends one request, and gives what is answered to line. An answer with an error
// is returned as an *Error.
func (c *Client) exchange(ctx context.Context, r Request, line func(Line) error) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := send(conn, r); errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w: process %d", ErrEnded, c.place.PID)
	} else if err != nil {
		return err
	}
	if unix, ok := conn.(*net.UnixConn); ok {
		_ = unix.CloseWrite()
	}
	answered := r.Op == OpLogs
	err = receive(ctx, conn, func(l Line) error {
		answered = true
		if l.Type == LineAnswer && l.Error != "" {
			return &Error{Text: l.Error, Class: l.Class}
		}
		if line == nil {
			return nil
		}
		return line(l)
	})
	switch {
	case err == nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && !answered:
		return fmt.Errorf("%w: process %d", ErrEnded, c.place.PID)
	}
	return err
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.place.Socket)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return nil, ErrNotRunning // it was killed
	case errors.Is(err, syscall.EAGAIN):
		return nil, c.noAnswer() // as many wait for it as can
	}
	return conn, err
}

func send(conn net.Conn, r Request) error {
	r.Version = Version
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(doc, '\n'))
	return err
}

// receive gives lines to line until there are no more, or ctx ends.
func receive(ctx context.Context, conn net.Conn, line func(Line) error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	lines := bufio.NewReader(conn)
	for {
		doc, err := lines.ReadBytes('\n')
		switch {
		case ctx.Err() != nil, errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
			return nil
		case err != nil:
			return err
		}
		var l Line
		if err := json.Unmarshal(doc, &l); err != nil {
			return fmt.Errorf("read what the guardian says: %w", err)
		}
		if err := line(l); err != nil {
			return err
		}
	}
}
