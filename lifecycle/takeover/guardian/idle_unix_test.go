//go:build unix

package guardian_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// idleSession waits for an API server that never answers: what a guardian does with its
// clients is the same whatever its session does.
func idleSession(ctx context.Context, folder string, events takeover.Sink) (*takeover.Session, func(), error) {
	stall, release := context.WithCancel(ctx)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stall.Done():
		case <-r.Context().Done():
		}
	}))
	s, err := takeover.New(takeover.Config{
		Lifecycle: &lifecycle.Lifecycle{Config: lifecycle.Config{Target: "devbox"}}, REST: &rest.Config{Host: api.URL}, Namespace: "pharos", Folder: folder, Events: events,
		Facts:  func(context.Context) (takeover.Facts, error) { return takeover.Facts{}, errors.New("nothing is known") },
		Agents: struct{ takeover.Agents }{}, Workstation: nothingLeft{},
	})
	return s, func() { release(); api.Close() }, err
}

// nothingLeft is a workstation on which nothing runs.
type nothingLeft struct{ takeover.Workstation }

func (nothingLeft) Recover() error { return nil }

// idle is the process of such a session.
func (r role) idle(ctx context.Context) error {
	var release func()
	s, err := guardian.Listen(guardian.Config{Folder: r.Folder, New: func(events takeover.Sink, _ func(string) io.Writer) (session *takeover.Session, err error) {
		session, release, err = idleSession(ctx, r.Folder, events)
		return session, err
	}})
	if err != nil {
		return err
	}
	defer release()
	return s.Serve(ctx)
}

// idling is a guardian in this process whose session sends what the test gives to events
// and prints what it writes to output.
type idling struct {
	client *guardian.Client
	folder string
	socket string
	events takeover.Sink
	output io.Writer
	ended  chan error
	stop   func()
}

func startIdling(t *testing.T, patience time.Duration) *idling {
	t.Helper()
	g := &idling{folder: filepath.Join(t.TempDir(), "takeover"), ended: make(chan error, 1)}
	var release func()
	s, err := guardian.Listen(guardian.Config{Folder: g.folder, Linger: time.Millisecond, Patience: patience, New: func(events takeover.Sink, output func(string) io.Writer) (session *takeover.Session, err error) {
		g.events, g.output = events, output("api")
		session, release, err = idleSession(context.Background(), g.folder, events)
		return session, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop = sync.OnceFunc(func() {
		cancel()
		release()
	})
	go func() { g.ended <- s.Serve(ctx) }()
	t.Cleanup(g.stop)
	var place struct{ Socket string }
	doc, err := os.ReadFile(filepath.Join(g.folder, "guardian.json"))
	if err != nil || json.Unmarshal(doc, &place) != nil {
		t.Fatal(err, string(doc))
	}
	g.socket = place.Socket
	if g.client, err = guardian.Connect(t.Context(), g.folder); err != nil {
		t.Fatal(err)
	}
	return g
}
