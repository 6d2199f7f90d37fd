package takeover_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// running is a session that runs.
type running struct {
	*takeover.Session
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error

	mu     sync.Mutex
	events []takeover.Event
	more   chan struct{}
	is     chan struct{} // closed when a workload is served
}

// begin runs a session in the background.
func begin(t *testing.T, c takeover.Config, names ...string) *running {
	t.Helper()
	r := &running{t: t, ended: make(chan error, 1), more: make(chan struct{}, 1), is: make(chan struct{})}
	c.Events = func(e takeover.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if e.Type == takeover.EventServing && !slices.ContainsFunc(r.events, func(e takeover.Event) bool { return e.Type == takeover.EventServing }) {
			close(r.is)
		}
		r.events = append(r.events, e)
		select {
		case r.more <- struct{}{}:
		default:
		}
	}
	var err error
	if r.Session, err = takeover.New(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	t.Cleanup(cancel)
	go func() { r.ended <- r.Run(ctx, names...) }()
	return r
}

// until waits for the nth event of a type.
func (r *running) until(typ takeover.EventType, n int) {
	r.t.Helper()
	for {
		if r.count(typ) >= n {
			return
		}
		select {
		case <-r.more:
		case err := <-r.ended:
			if r.count(typ) < n {
				r.t.Fatalf("the session ended before %s: %v, after %v", typ, err, r.types())
			}
			r.ended <- err
			return
		}
	}
}

// served tells when a workload is.
func (r *running) served() <-chan struct{} { return r.is }

func (r *running) count(typ takeover.EventType) (n int) {
	for _, t := range r.types() {
		if t == typ {
			n++
		}
	}
	return n
}

func (r *running) types() (list []takeover.EventType) {
	for _, e := range r.all() {
		list = append(list, e.Type)
	}
	return list
}

func (r *running) all() []takeover.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// order wants events in this order, whatever is between them.
func (r *running) order(want ...takeover.EventType) {
	r.t.Helper()
	at := 0
	for _, typ := range r.types() {
		if at < len(want) && typ == want[at] {
			at++
		}
	}
	if at < len(want) {
		r.t.Errorf("there is no %s in its place among %v", want[at], r.types())
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	s := takeovertest.NewShop(t, devtest.Cluster(t))
	before := s.Specs()
	s.Write(map[string]string{"api/main.txt": "api 2\n"})
	c := s.Config()
	local := &takeovertest.Workstation{}
	c.Workstation = local
	r := begin(t, c)
	r.until(takeover.EventServing, 1)
	if got := s.Spec("api"); !strings.Contains(got, "pharos-agent@sha256:") || !strings.Contains(got, `"/pharos-agent","probe"`) || strings.Contains(got, `"serve"`) {
		t.Errorf("taken over, api is %s", got)
	}
	if s.Spec("mail") != before["mail"] {
		t.Error("mail is not as it was")
	}
	if names := local.Names(); !slices.Equal(names, []string{"api"}) {
		t.Errorf("there run %v", names)
	}
	if _, err := s.Lifecycle().TryBorrow(t.Context(), lifecycle.BorrowRequest{Holder: "x", Purpose: "a look"}); !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("somebody else could borrow it: %v", err)
	}
	// Another session in the same checkout.
	second, err := takeover.New(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(second.Run(t.Context()), second.Finish(t.Context())); strings.Count(err.Error(), takeover.ErrRunning.Error()) != 2 {
		t.Errorf("a second session in the checkout: %v", err)
	}
	if err := r.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("the session ended with %v", err)
	}
	r.order(takeover.EventStarted, takeover.EventPlanned, takeover.EventPublished, takeover.EventLeaseAcquired, takeover.EventRecorded, takeover.EventReady,
		takeover.EventDiverted, takeover.EventServing, takeover.EventRestored, takeover.EventAgentsGone, takeover.EventStopped, takeover.EventForgotten, takeover.EventReturned, takeover.EventFinished)
	s.Whole(before)
	if names := local.Names(); len(names) > 0 {
		t.Errorf("afterwards there run %v", names)
	}
}

// It is told how many agents are connected when that changes, and not whenever something
// about a connection does.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	for _, connected := range []int{1, 1, 2, 2, 2, 1} {
		s.local.Connections("api", connected, 2)
	}
	if n := s.count(takeover.EventConnection); n != 3 {
		t.Errorf("it is told %d times", n)
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}
