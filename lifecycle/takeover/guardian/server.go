package guardian

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/flock"
)

// Config is what a Server needs.
type Config struct {
	// Folder is private to the checkout, and the session's own: takeover.Config.Folder.
	// It is made if it is missing. Required.
	Folder string
	// New returns the session. Its events go to the sink, and what the processes of
	// the session and their builds print, without secrets, to output. Required.
	New func(events takeover.Sink, output func(source string) io.Writer) (*takeover.Session, error)
	// Names are those of takeover.Session.Run.
	Names []string
	// Linger is how long the end of the session is kept for somebody to ask for it, if
	// nobody has yet. The default is 10 seconds.
	Linger time.Duration
	// Patience is how long a client may take to read a line. The default is 10 seconds.
	Patience time.Duration
	// Now tells the time. The default is time.Now.
	Now func() time.Time
	// Log receives what is no event. The default discards.
	Log *slog.Logger
}

// Server runs a session, and answers for it at a socket.
type Server struct {
	Config
	session  *takeover.Session
	listener net.Listener
	place    place
	events   *feed[takeover.Event]
	logs     *feed[LogLine]
	close    []func()

	stop  context.CancelFunc
	ended chan struct{} // the session has
	seen  chan struct{} // somebody has seen its end
	once  sync.Once

	mu      sync.Mutex
	asked   sync.WaitGroup // requests
	closing bool           // there are to be no more of them
}

const (
	// keptEvents is more than a day of edits makes.
	keptEvents = 20_000
	// longestRequest is that of a line of a client.
	longestRequest = 64 << 10
	// longestID is that of a Request.
	longestID = 64
	// acceptAgain is how long nobody is let in where that failed.
	acceptAgain = 100 * time.Millisecond
	// mostClients may be connected, and mostRequests of one be under way.
	mostClients, mostRequests = 128, 16
)

// Listen makes the socket. The error matches takeover.ErrRunning if there is another
// guardian. Serve has to be called.
func Listen(c Config) (*Server, error) {
	if c.Folder == "" || c.New == nil {
		return nil, errors.New("guardian: Config.Folder and Config.New are required")
	}
	if c.Linger == 0 {
		c.Linger = 10 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = 10 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{Config: c, logs: newLogs(), ended: make(chan struct{}), seen: make(chan struct{}),
		events: newFeed(keptEvents, keptBytes, func(e takeover.Event) int { return 256 + len(e.Reason) + len(e.Error) })}
	if err := s.listen(); err != nil {
		s.shut()
		return nil, err
	}
	return s, nil
}

func (s *Server) listen() error {
	if err := private(s.Folder); err != nil {
		return err
	}
	unlock, err := flock.Lock(filepath.Join(s.Folder, "guardian.lock"))
	if errors.Is(err, flock.ErrLocked) {
		return takeover.ErrRunning
	}
	if err != nil {
		return err
	}
	s.close = append(s.close, unlock)
	forget(s.Folder)
	if s.session, err = s.New(s.events.add, s.output); err != nil {
		return err
	}
	socket, remove, err := choose(s.Folder)
	if err != nil {
		return err
	}
	s.close = append(s.close, remove)
	if s.listener, err = net.Listen("unix", socket); err != nil {
		return err
	}
	s.close = append(s.close, func() { _ = s.listener.Close() })
	if err := os.Chmod(socket, 0o600); err != nil {
		return err
	}
	s.place = place{Version: Version, PID: os.Getpid(), Socket: socket, Started: s.Now().UTC()}
	if err := s.place.write(s.Folder); err != nil {
		return err
	}
	s.close = append(s.close, func() { _ = os.Remove(filepath.Join(s.Folder, placeName)) })
	return nil
}

// shut takes back what Listen has made, the last first.
func (s *Server) shut() {
	for i := len(s.close) - 1; i >= 0; i-- {
		s.close[i]()
	}
	s.close = nil
}

// Serve runs the session until it ends, and answers for it. When ctx ends the session
// is left as it is: see takeover.Session.Run, whose error is returned.
func (s *Server) Serve(ctx context.Context) error {
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	serving, quit := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	clients.Go(func() { s.accept(serving, &clients) })
	err := s.session.Run(ctx, s.Names...)
	s.events.close()
	s.logs.close()
	close(s.ended)
	select {
	case <-s.seen:
	case <-ctx.Done():
	case <-time.After(s.Linger):
	}
	s.shut()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.asked.Wait() // all of them end, since the session has
	}()
	select {
	case <-answered:
	case <-time.After(s.Patience): // somebody reads slowly
	}
	quit()
	clients.Wait()
	<-answered
	return err
}

// begin says whether a request may begin; then done has to be called on asked.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.asked.Add(1)
	return true
}

// HandBack asks the session to hand everything back, as Client.HandBack does.
func (s *Server) HandBack(ctx context.Context) error { return s.session.HandBack(ctx) }

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

// refuse answers what is no request.
// Refusal is the answer to a line that is no request; id is what was read of it, if it is
// not too long.
func Refusal(id string, err error) Line {
	if len(id) > longestID {
		id = ""
	}
	return Line{Version: Version, Type: LineAnswer, ID: id, Error: err.Error(), Class: "usage"}
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

// all names them for people.
func all(ops []Op) string {
	names := make([]string, len(ops))
	for i, op := range ops {
		names[i] = string(op)
	}
	return strings.Join(names, ", ")
}

// ParseRequest reads a line to a guardian. What it does not know is refused: a misspelt
// "workloads" would ask for all of them.
func ParseRequest(line []byte) (Request, error) {
	var r Request
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("the request cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("the request is followed by something else")
	}
	if r.Version != Version {
		return r, fmt.Errorf("the request is of version %d, and this guardian speaks %d", r.Version, Version)
	}
	if len(r.ID) > longestID {
		return r, fmt.Errorf("the request's id has more than %d bytes", longestID)
	}
	if !slices.Contains(ops, r.Op) {
		return r, fmt.Errorf("%q is nothing that can be asked for: op is one of %s", r.Op, all(ops))
	}
	return r, nil
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

// answer does what is asked, and returns only what keeps it from being told.
func (c *client) answer(ctx context.Context, r Request) error {
	var err error
	switch r.Op {
	case OpStatus:
		return c.send(Line{Type: LineStatus, ID: r.ID, Status: c.status()})
	case OpLogs:
		err := stream(ctx, c.logs, r.Follow, func(l LogLine) error { return c.send(Line{Type: LineLog, ID: r.ID, Log: &l}) })
		if err != nil || ctx.Err() != nil {
			return err
		}
	case OpAttach:
		if err := c.send(Line{Type: LineStatus, ID: r.ID, Status: c.status()}); err != nil {
			return err
		}
		err := stream(ctx, c.events, true, func(e takeover.Event) error { return c.send(Line{Type: LineEvent, ID: r.ID, Event: &e}) })
		c.once.Do(func() { close(c.seen) })
		return err
	case OpHandBack:
		err = c.session.HandBack(ctx, r.Workloads...)
	case OpRestart, OpUnpark:
		err = c.session.Restart(ctx, r.Workloads...)
	case OpStop:
		c.stop()
		select {
		case <-c.ended:
		case <-ctx.Done():
		}
	}
	l := Line{Type: LineAnswer, ID: r.ID, Class: takeover.ClassOf(err)}
	if err != nil {
		l.Error = err.Error()
	}
	return c.send(l)
}

func (c *client) status() *Status {
	return &Status{Status: c.session.Status(), PID: c.place.PID, Started: c.place.Started}
}

// stream sends what there is of a feed and, with follow, what comes until it ends.
func stream[T any](ctx context.Context, f *feed[T], follow bool, send func(T) error) error {
	for n := 0; ; {
		items, next, news := f.from(n)
		for _, item := range items {
			if ctx.Err() != nil {
				return nil // however slowly it is read
			}
			if err := send(item); err != nil {
				return err
			}
		}
		if n = next; !follow || news == nil {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}
