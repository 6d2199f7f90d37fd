package portforward

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/moby/spdystream/spdy"
)

// What came before the connection was lost is read, and that it is all of it where the far end has said so.
func TestDataBeforeTheLoss(t *testing.T) {
	t.Parallel()
	const frame, frames = 16 << 10, 8
	for name, lose := range map[string]func(*farEnd){
		"cut":        func(f *farEnd) { f.raw.Close() },
		"going away": func(f *farEnd) { _ = f.WriteFrame(&spdy.GoAwayFrame{}) },
	} {
		for ended, want := range map[bool]error{true: nil, false: ErrLost} {
			t.Run(name+map[bool]string{true: " after the end"}[ended], func(t *testing.T) {
				t.Parallel()
				f := newFarEnd(t)
				s, id := f.open(t)
				for range frames {
					f.say(t, &spdy.DataFrame{StreamId: id, Data: make([]byte, frame)})
				}
				if ended {
					f.say(t, &spdy.DataFrame{StreamId: id, Flags: spdy.DataFlagFin})
				}
				lose(f)
				<-f.conn.Done()
				got, err := io.ReadAll(s)
				if len(got) != frame*frames || !errors.Is(err, want) {
					t.Errorf("read %d bytes, %v", len(got), err)
				}
				if _, err := s.Write([]byte("x")); !errors.Is(err, ErrLost) {
					t.Errorf("write: %v", err)
				}
			})
		}
	}
}

// A far end that sends much to a stream before that is open holds neither its opening nor the connection's end up.
func TestDataBeforeTheOpening(t *testing.T) {
	t.Parallel()
	f := newFarEnd(t)
	ctx, cancel := context.WithCancel(t.Context())
	opening := make(chan error, 1)
	go func() {
		_, err := f.conn.Open(ctx, 80)
		opening <- err
	}()
	f.next(t)
	data := f.next(t).(*spdy.SynStreamFrame).StreamId // and the other is not answered
	f.say(t, &spdy.SynReplyFrame{StreamId: data, Headers: http.Header{}})
	for range 2 { // for the second there is no room
		f.say(t, &spdy.DataFrame{StreamId: data, Data: make([]byte, most)})
	}
	cancel()
	if err := <-opening; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := f.conn.Close(); err != nil {
		t.Error(err)
	}
}
