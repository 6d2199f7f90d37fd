package relay_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
)

// A reset at one side is a reset at the other, also in the middle of an answer.
func TestResetIsPassedOn(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"process", "caller"} {
		s := newStream(t)
		j := s.join(t, relay.New(), relay.New(), false)
		from, to, cut := j.process, j.caller, j.atAgent
		if of == "caller" {
			from, to, cut = j.caller, j.process, j.atLocal
		}
		write(t, from, []byte("half"))
		read(t, to, []byte("half"))
		relay.Reset(from)
		if n, err := to.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: read %d bytes, %v", of, n, err)
		}
		if got := <-cut; !errors.Is(got.err, relay.ErrCut) {
			t.Errorf("%s: %v", of, got.err)
		}
	}
}

func TestLostStreamIsAReset(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	j := s.join(t, relay.New(), relay.New(), true)
	write(t, j.process, []byte("half"))
	read(t, j.caller, []byte("half"))
	s.workstation.Close()
	if _, err := j.caller.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	if got := <-j.atAgent; !errors.Is(got.err, relay.ErrCut) || got.Kept {
		t.Errorf("%+v", got)
	}
}

// A process that takes no bytes is cut off all the same, and not only when it takes some.
func TestCutWhileNothingIsTaken(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"caller", "stream"} {
		s := newStream(t)
		caller, accepted := tcpPair(t)
		dialled, process := net.Pipe() // a write ends when all of it was read
		done := make(chan error, 1)
		go func() {
			channel, err := (<-s.workstation.Offers).Accept()
			if err == nil {
				_, err = relay.New().Join(relay.Pair{Conn: dialled, Channel: channel})
			}
			done <- err
		}()
		channel := s.open(t)
		go relay.New().Join(relay.Pair{Conn: accepted, Channel: channel})
		write(t, caller, []byte("request"))
		read(t, process, []byte("r"))
		if of == "caller" {
			relay.Reset(caller)
		} else {
			s.agent.Close()
		}
		if err := <-done; !errors.Is(err, relay.ErrCut) {
			t.Errorf("%s: %v", of, err)
		}
		if n, err := process.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: %d bytes more were read", of, n)
		}
	}
}

func TestUnansweredIsKept(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	caller, accepted := tcpPair(t)
	go func() {
		(<-s.workstation.Offers).Accept()
	}()
	channel := s.open(t)
	write(t, caller, []byte("request"))
	done := make(chan outcome)
	go func() {
		result, err := relay.New().Join(relay.Pair{
			Conn: accepted, Channel: channel, KeepUnanswered: true,
		})
		done <- outcome{result, err}
	}()
	s.workstation.Close()
	got := <-done
	if !errors.Is(got.err, relay.ErrCut) || !got.Kept {
		t.Fatalf("%+v", got)
	}
	write(t, accepted, []byte("answer"))
	read(t, caller, []byte("answer"))
}
