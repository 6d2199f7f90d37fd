package guardian

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
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

// keptEvents is more than a day of edits makes.
const keptEvents = 20_000

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
