package relay_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
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

// watched is a connection that tells whether it was reset.
type watched struct {
	*net.TCPConn
	reset bool
}

func (w *watched) SetLinger(seconds int) error {
	w.reset = w.reset || seconds == 0
	return w.TCPConn.SetLinger(seconds)
}

// A caller that ends its half and is gone then is a reset for the process, although that has heard the end and has nothing to say.
func TestResetAfterTheEndIsPassedOn(t *testing.T) {
	t.Parallel()
	h, s := newHostileAgent(t)
	h.send(t, wire.KindOpen, 1, wire.Connection{Port: 80}.Append(nil))
	dialled, process := tcpPair(t)
	conn := &watched{TCPConn: dialled}
	done := joinOffer(s, conn)
	h.receive(t, wire.KindAccept)
	h.send(t, wire.KindData, 1, []byte("request"))
	h.send(t, wire.KindEnd, 1, nil)
	if got, err := io.ReadAll(process); string(got) != "request" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	h.send(t, wire.KindClose, 1, nil)
	if err := within(t, done); !errors.Is(err, relay.ErrCut) {
		t.Error(err)
	}
	if !conn.reset {
		t.Error("the process sees an end")
	}
}

// Nor does a process that takes no bytes keep a caller's connection that is gone.
func TestCutAfterTheEndWhileNothingIsTaken(t *testing.T) {
	t.Parallel()
	h, s := newHostileAgent(t)
	h.send(t, wire.KindOpen, 1, wire.Connection{Port: 80}.Append(nil))
	dialled, process := net.Pipe() // a write ends when all of it was read
	done := joinOffer(s, dialled)
	h.receive(t, wire.KindAccept)
	h.send(t, wire.KindData, 1, []byte("request"))
	read(t, process, []byte("r"))
	h.send(t, wire.KindEnd, 1, nil)
	h.send(t, wire.KindClose, 1, nil)
	if err := within(t, done); !errors.Is(err, relay.ErrCut) {
		t.Error(err)
	}
}

// answered is a process that has answered, and is gone.
type answered struct {
	net.Conn
	answer io.Reader
}

func (a answered) Read(p []byte) (int, error) { return a.answer.Read(p) }
func (answered) Write([]byte) (int, error)    { return 0, net.ErrClosed }
func (answered) CloseWrite() error            { return nil }

// An answer that has ended is whole also for a caller that takes it slowly, and what he said last is refused.
func TestEndedAnswerIsWholeForASlowCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		s := newStreamOver(t, a, b)
		answer := random(t, 8<<10)
		_, dialled := net.Pipe()
		process := joinOffer(s.workstation, answered{dialled, bytes.NewReader(answer)})
		caller, accepted := net.Pipe()
		done := make(chan error, 1)
		channel := s.open(t)
		go func() {
			_, err := relay.New().Join(relay.Pair{Conn: accepted, Channel: channel})
			done <- err
		}()
		synctest.Wait()
		write(t, caller, []byte("more"))
		if err := <-process; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the process has gone: %v", err)
		}
		<-time.After(time.Minute)
		read(t, caller, answer)
		if err := <-done; !errors.Is(err, relay.ErrCut) {
			t.Errorf("what was said last: %v", err)
		}
	})
}

// joinOffer takes the next channel that is offered for conn.
func joinOffer(s *relay.Stream, conn net.Conn) <-chan error {
	done := make(chan error, 1)
	go func() {
		channel, err := (<-s.Offers).Accept()
		if err == nil {
			_, err = relay.New().Join(relay.Pair{Conn: conn, Channel: channel})
		}
		done <- err
	}()
	return done
}

// within waits for the end of a connection, which is soon.
func within(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the connection does not end")
		return nil
	}
}
