package forward_test

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pharos-dev/pharos/lifecycle/takeover/forward"
)

func TestForwardsToTheServicesPod(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "db", db())
	s.run(t, "db-1", "db", says("db-1"))
	r := s.start(t,
		forward.Forward{Service: "db", Port: intstr.FromInt32(80)},
		forward.Forward{Service: "db", Port: intstr.FromString("admin")})
	for i, want := range []string{"db-1:5432", "db-1:9000"} {
		c := dial(t, r.Addresses()[i])
		if got := line(t, c); got != want {
			t.Errorf("forward %d leads to %s, want %s", i, got, want)
		}
		// What is said before half of the connection is closed is answered.
		if _, err := c.Write([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); err != nil || string(got) != "last words" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	state := r.await(t, func(s forward.Status) bool { return s.Pod == "db-1" && s.Connections == 0 })
	if state.Err != nil {
		t.Error(state.Err)
	}
}

func TestConnectionsFollowThePods(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "db", db())
	s.run(t, "db-1", "db", says("db-1"))
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)})
	open := dial(t, r.Addresses()[0])
	line(t, open)
	s.run(t, "db-2", "db", says("db-2"))
	// It stays with the pod that works.
	if got := line(t, dial(t, r.Addresses()[0])); got != "db-1:5432" {
		t.Errorf("a second connection goes to %s", got)
	}
	s.end(t, "db-1")
	if _, err := open.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection that was cut off ends with %v", err)
	}
	r.await(t, func(s forward.Status) bool { return s.Pod == "db-2" && s.Err == nil })
	if got := line(t, dial(t, r.Addresses()[0])); got != "db-2:5432" {
		t.Errorf("after its pod's end a connection goes to %s", got)
	}
	// While there is none it waits.
	s.end(t, "db-2")
	r.await(t, func(s forward.Status) bool { return s.Err != nil })
	waits := dial(t, r.Addresses()[0])
	s.run(t, "db-3", "db", says("db-3"))
	if got := line(t, waits); got != "db-3:5432" {
		t.Errorf("a connection that waited goes to %s", got)
	}
	r.await(t, func(s forward.Status) bool { return s.Pod == "db-3" && s.Err == nil })
}

// What stands still from end to end is seen, and works again as soon as it can.
func TestWedgedForwardIsNoticed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "db", db())
	s.run(t, "db-1", "db", says("db-1"))
	var wedged atomic.Bool
	release := make(chan struct{})
	s.peer.Refuse = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if !wedged.Load() {
			return false
		}
		select {
		case <-release:
			return false
		case <-r.Context().Done():
			return true
		}
	}
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)})
	open := dial(t, r.Addresses()[0])
	line(t, open)
	r.await(t, func(s forward.Status) bool { return s.Pod == "db-1" })

	wedged.Store(true)
	s.peer.Freeze("db-1")
	if _, err := open.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection that stands still ends with %v", err)
	}
	// Somebody connects: nobody else would notice before the next probe.
	if _, err := dial(t, r.Addresses()[0]).Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection that leads nowhere ends with %v", err)
	}
	state := r.await(t, func(s forward.Status) bool { return s.Err != nil })
	if state.Pod != "" {
		t.Errorf("it is said to lead to %s", state.Pod)
	}
	close(release)
	r.await(t, func(s forward.Status) bool { return s.Err == nil && s.Pod == "db-1" })
	if got := line(t, dial(t, r.Addresses()[0])); got != "db-1:5432" {
		t.Errorf("a new connection goes to %s", got)
	}
}

// A client that takes nothing holds nobody else up.
func TestStalledConnectionsAreAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.service(t, "db", db())
	s.run(t, "db-1", "db", says("db-1"))
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)})
	for range 5 {
		c := dial(t, r.Addresses()[0])
		line(t, c)
		go func() { // it sends for ever, and reads nothing
			for {
				if _, err := c.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}()
	}
	for range 20 {
		c := dial(t, r.Addresses()[0])
		if got := line(t, c); got != "db-1:5432" {
			t.Errorf("got %s", got)
		}
		c.Close()
	}
	if n := s.peer.Made(); n > 30 {
		t.Errorf("%d port-forwards for 25 connections", n)
	}
}
