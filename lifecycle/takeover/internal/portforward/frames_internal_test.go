package portforward

import (
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/moby/spdystream/spdy"
)

// farEnd is a connection, and a far end that is not a good one.
type farEnd struct {
	*spdy.Framer
	conn *Conn
	raw  net.Conn
}

func newFarEnd(t *testing.T) *farEnd {
	t.Helper()
	near, far := net.Pipe()
	conn, err := newConn(near, SPDY, "shop", "web")
	if err != nil {
		t.Fatal(err)
	}
	framer, err := spdy.NewFramer(far, far)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		far.Close()
		conn.Close()
	})
	return &farEnd{framer, conn, far}
}

// next is the next frame that is not a question.
func (f *farEnd) next(t *testing.T) spdy.Frame {
	t.Helper()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if ping, ok := frame.(*spdy.PingFrame); !ok || ping.Id%2 == 0 {
			return frame
		}
	}
}

func (f *farEnd) say(t *testing.T, frame spdy.Frame) {
	t.Helper()
	if err := f.WriteFrame(frame); err != nil {
		t.Fatal(err)
	}
}

// open opens a stream, which the far end answers, and returns it with the number of its data.
func (f *farEnd) open(t *testing.T) (*Stream, spdy.StreamId) {
	t.Helper()
	opened := make(chan *Stream, 1)
	go func() {
		s, err := f.conn.Open(t.Context(), 80)
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}()
	var data spdy.StreamId
	for range 2 {
		asked := f.next(t).(*spdy.SynStreamFrame)
		if asked.Headers.Get("streamType") == "data" {
			data = asked.StreamId
		}
		f.say(t, &spdy.SynReplyFrame{StreamId: asked.StreamId, Headers: http.Header{}})
	}
	if end := f.next(t).(*spdy.DataFrame); end.Flags&spdy.DataFlagFin == 0 {
		t.Errorf("something is said of the port: %q", end.Data)
	}
	return <-opened, data
}

func TestFramesOfAFarEnd(t *testing.T) {
	t.Parallel()
	t.Run("it asks whether this end is there", func(t *testing.T) {
		t.Parallel()
		f := newFarEnd(t)
		f.say(t, &spdy.PingFrame{Id: 2})
		if answer, ok := f.next(t).(*spdy.PingFrame); !ok || answer.Id != 2 {
			t.Errorf("answered %v", answer)
		}
	})
	t.Run("it opens a stream", func(t *testing.T) {
		t.Parallel()
		f := newFarEnd(t)
		f.say(t, &spdy.SynStreamFrame{StreamId: 2, Headers: http.Header{}})
		if answer, ok := f.next(t).(*spdy.RstStreamFrame); !ok || answer.StreamId != 2 || answer.Status != spdy.RefusedStream {
			t.Errorf("answered %v", answer)
		}
	})
	t.Run("it goes away", func(t *testing.T) {
		t.Parallel()
		f := newFarEnd(t)
		f.say(t, &spdy.GoAwayFrame{})
		<-f.conn.Done()
		if !errors.Is(f.conn.Err(), ErrLost) {
			t.Error(f.conn.Err())
		}
	})
	t.Run("it refuses a stream", func(t *testing.T) {
		t.Parallel()
		f := newFarEnd(t)
		failed := make(chan error, 1)
		go func() {
			_, err := f.conn.Open(t.Context(), 80)
			failed <- err
		}()
		asked := f.next(t).(*spdy.SynStreamFrame)
		f.next(t)
		f.say(t, &spdy.RstStreamFrame{StreamId: asked.StreamId, Status: spdy.RefusedStream})
		if err := <-failed; !errors.Is(err, errReset) || !strings.Contains(err.Error(), "port 80 of pod shop/web") {
			t.Error(err)
		}
	})
	t.Run("it speaks of what there is not", func(t *testing.T) {
		t.Parallel()
		f := newFarEnd(t)
		f.say(t, &spdy.DataFrame{StreamId: 77, Data: []byte("x")})
		f.say(t, &spdy.RstStreamFrame{StreamId: 78, Status: spdy.Cancel})
		f.say(t, &spdy.SynReplyFrame{StreamId: 79, Headers: http.Header{}})
		f.say(t, &spdy.PingFrame{Id: 99})
		s, id := f.open(t)
		go f.WriteFrame(&spdy.DataFrame{StreamId: id, Data: []byte("answer")})
		got := make([]byte, 6)
		if _, err := io.ReadFull(s, got); err != nil || string(got) != "answer" {
			t.Errorf("read %q, %v", got, err)
		}
	})
	t.Run("it speaks another protocol", func(t *testing.T) {
		t.Parallel()
		f := newFarEnd(t)
		go f.raw.Write([]byte("\x80\x03\xff\xff\x00\x00\x00\x00"))
		<-f.conn.Done()
	})
}

// What came before the end, or a reset, is read, and nothing after it.
func TestDataBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(spdy.StreamId) spdy.Frame{
		"end":   func(id spdy.StreamId) spdy.Frame { return &spdy.DataFrame{StreamId: id, Flags: spdy.DataFlagFin} },
		"reset": func(id spdy.StreamId) spdy.Frame { return &spdy.RstStreamFrame{StreamId: id, Status: spdy.Cancel} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFarEnd(t)
			s, id := f.open(t)
			for _, data := range []string{"one ", "two"} {
				f.say(t, &spdy.DataFrame{StreamId: id, Data: []byte(data)})
			}
			f.say(t, end(id))
			f.say(t, &spdy.DataFrame{StreamId: id, Data: []byte("three")})
			got, err := io.ReadAll(s)
			if err != nil || string(got) != "one two" {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
}

// A stream that was ended on one side is let go of on both: the far end is told when nobody reads any more.
func TestResetAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := newFarEnd(t)
	s, id := f.open(t)
	closed := make(chan error, 1)
	go func() { closed <- errors.Join(s.CloseWrite(), s.CloseWrite(), s.Close()) }()
	if end, ok := f.next(t).(*spdy.DataFrame); !ok || end.StreamId != id || end.Flags&spdy.DataFlagFin == 0 {
		t.Errorf("said %v", end)
	}
	if reset, ok := f.next(t).(*spdy.RstStreamFrame); !ok || reset.StreamId != id {
		t.Errorf("said %v", reset)
	}
	f.next(t) // of what is said about the port
	if err := <-closed; err != nil {
		t.Error(err)
	}
	f.conn.frames.mu.Lock()
	defer f.conn.frames.mu.Unlock()
	if n := len(f.conn.frames.flows); n != 0 {
		t.Errorf("%d are kept", n)
	}
}

// A far end that reads nothing before its questions are answered gets the answers, whatever else waits to be sent.
func TestAnswersDoNotWait(t *testing.T) {
	t.Parallel()
	f := newFarEnd(t)
	s, _ := f.open(t)
	for range 2 * pending / longestFrame {
		go s.Write(make([]byte, longestFrame)) // until the connection is closed
	}
	until(&f.conn.wire.mu, func() bool { return len(f.conn.wire.buf) >= pending })
	opening := make(chan error, 1)
	go func() {
		_, err := f.conn.Open(t.Context(), 80)
		opening <- err
	}()
	until(&f.conn.frames.mu, func() bool { return len(f.conn.frames.flows) > 2 })
	const asked = 100
	for i := range asked { // nothing is read meanwhile
		f.say(t, &spdy.PingFrame{Id: uint32(2 + 2*i)})
	}
	answered, opened := 0, 0
	for answered < asked || opened < 2 {
		switch frame := f.next(t).(type) {
		case *spdy.PingFrame:
			answered++
		case *spdy.SynStreamFrame:
			opened++
			f.say(t, &spdy.SynReplyFrame{StreamId: frame.StreamId, Headers: http.Header{}})
		}
	}
	go io.Copy(io.Discard, f.raw)
	if err := <-opening; err != nil {
		t.Error(err)
	}
}

// until waits for what is so under a lock.
func until(mu *sync.Mutex, is func() bool) {
	for {
		mu.Lock()
		so := is()
		mu.Unlock()
		if so {
			return
		}
		runtime.Gosched()
	}
}

// Much that nobody takes is not read: it waits at the far end.
func TestUntakenDataAreBounded(t *testing.T) {
	t.Parallel()
	f := newFarEnd(t)
	s, id := f.open(t)
	const frame, frames = 64 << 10, 64
	sent := make(chan int, frames)
	go func() {
		defer close(sent)
		for i := range frames {
			if f.WriteFrame(&spdy.DataFrame{StreamId: id, Data: make([]byte, frame)}) != nil {
				return
			}
			sent <- i
		}
	}()
	for range most / frame { // so much is taken without a reader
		<-sent
	}
	s.data.mu.Lock()
	size := s.data.size
	s.data.mu.Unlock()
	if size > most+frame {
		t.Errorf("%d bytes are kept", size)
	}
	if _, err := io.ReadFull(s, make([]byte, frames*frame)); err != nil {
		t.Error(err)
	}
	for range sent {
	}
}
