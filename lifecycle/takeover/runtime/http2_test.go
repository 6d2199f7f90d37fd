package runtime

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// aFrame is a frame of a stream.
func aFrame(kind, flags byte, stream uint32, payload string) string {
	b := appendFrame(nil, kind, []byte(payload))
	b[4] = flags
	binary.BigEndian.PutUint32(b[5:], stream)
	return string(b)
}

// pieces calls f with a text in pieces of a size.
func pieces(text string, size int, f func(p []byte)) {
	for piece := range slices.Chunk([]byte(text), size) {
		f(piece)
	}
}

// However the bytes of a caller are cut into pieces, the process gets all of them, but
// for the one answer that it has not asked for.
func TestHTTP2FromCaller(t *testing.T) {
	t.Parallel()
	foreign := aFrame(framePing, flagAck, 0, "8 others")
	before := preface + aFrame(frameSettings, 0, 0, "") + aFrame(frameHeaders, flagEndHeaders, 1, "head") + aFrame(frameData, 0, 1, "data") + foreign +
		aFrame(framePing, 0, 0, pingData) // asked by the caller
	answer := aFrame(framePing, flagAck, 0, pingData)
	after := aFrame(frameHeaders, flagEndHeaders, 3, "more") + foreign + aFrame(frameReset, 0, 1, "code") + aFrame(frameData, flagEndStream, 3, "")
	for size := 1; size < len(before+answer+after); size++ {
		h := newHTTP2()
		h.leaving = true
		var sent bytes.Buffer
		pieces(before+answer+after, size, func(p []byte) {
			is := bytes.Clone(p)
			out, err := h.fromCaller(p)
			if err != nil {
				t.Fatal(err)
			}
			sent.Write(out)
			if !bytes.Equal(p, is) {
				t.Error("the caller's bytes were changed")
			}
		})
		if got, want := sent.String()+string(h.held), before+after; got != want {
			t.Errorf("in pieces of %d: got %q, want %q", size, got, want)
		}
		if _, open := h.open[3]; !open || len(h.open) != 1 || h.highest != 3 || !h.answered {
			t.Errorf("in pieces of %d: %+v", size, h)
		}
	}
	if _, err := newHTTP2().fromCaller([]byte("PRI * HTTP/2.0\r\n\r\nno")); err == nil {
		t.Error("another preface was taken")
	}
	h := newHTTP2() // nobody was asked
	if out, err := h.fromCaller([]byte(preface + answer)); err != nil || string(out) != preface+answer || h.answered {
		t.Errorf("got %q, %v", out, err)
	}
}

// Something may be said to the caller between two frames, and nowhere else, and a stream
// is open until its answer is whole.
func TestHTTP2FromProcess(t *testing.T) {
	t.Parallel()
	parts := []struct {
		text     string
		boundary bool
		open     []uint32
	}{
		{aFrame(frameSettings, 0, 0, "123456"), true, []uint32{1, 3, 5, 7}},
		{aFrame(frameHeaders, 0, 1, "head"), false, []uint32{1, 3, 5, 7}},
		{aFrame(frameContinuation, flagEndHeaders, 1, "more"), true, []uint32{1, 3, 5, 7}},
		{aFrame(frameData, flagEndStream, 1, "body"), true, []uint32{3, 5, 7}},
		{aFrame(frameReset, 0, 3, "code"), true, []uint32{5, 7}},
		{aFrame(frameHeaders, flagEndHeaders|flagEndStream, 2, "pushed"), true, []uint32{5, 7}},
		{string(appendGoAway(nil, 5)), true, []uint32{5}},
		{aFrame(frameHeaders, flagEndStream, 5, "last"), false, nil},
		{aFrame(frameContinuation, flagEndHeaders, 5, ""), true, nil},
	}
	for size := 1; size < 30; size++ {
		h := newHTTP2()
		for _, stream := range []uint32{1, 3, 5, 7} {
			h.request(frame{kind: frameHeaders, stream: stream})
		}
		if h.boundary() {
			t.Error("something may be said before the process has")
		}
		for i, part := range parts {
			n := 0
			pieces(part.text, size, func(p []byte) {
				h.fromProcess(p)
				if n += len(p); n < len(part.text) && h.boundary() {
					t.Errorf("in the middle of part %d in pieces of %d is a boundary", i, size)
				}
			})
			if h.boundary() != part.boundary {
				t.Errorf("after part %d in pieces of %d: %+v", i, size, h)
			}
			var open []uint32
			for stream := range h.open {
				open = append(open, stream)
			}
			slices.Sort(open)
			if !slices.Equal(open, part.open) {
				t.Errorf("after part %d in pieces of %d are open: %d, want %d", i, size, open, part.open)
			}
		}
	}
}

// A connection is sealed when the caller knows and has all answers, and tells which
// streams the process has not seen.
func TestHTTP2Seal(t *testing.T) {
	t.Parallel()
	h := newHTTP2()
	if _, err := h.fromCaller([]byte(preface + aFrame(frameHeaders, flagEndHeaders, 9, ""))); err != nil {
		t.Fatal(err)
	}
	if h.seal() {
		t.Error("it is sealed though nobody leaves")
	}
	h.leave()
	want := string(appendGoAway(nil, lastStream)) + aFrame(framePing, 0, 0, pingData)
	if string(h.say) != want || h.seal() {
		t.Errorf("it says %q", h.say)
	}
	h.answered = true
	if h.seal() {
		t.Error("it is sealed with a stream open")
	}
	h.fromProcess([]byte(aFrame(frameHeaders, flagEndHeaders|flagEndStream, 9, "")))
	if !h.seal() || h.seal() || string(h.say) != want+string(appendGoAway(nil, 9)) {
		t.Errorf("it says %q", h.say)
	}
}

func TestOpensHTTP2(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "220 x\n": false, "220 mail.example.com\r\n": false,
		aFrame(frameSettings, 0, 0, ""): true, aFrame(frameSettings, 0, 0, "123456")[:frameHead]: true,
		aFrame(frameSettings, 0, 0, "12345"): false, aFrame(frameSettings, flagAck, 0, ""): false, aFrame(frameData, 0, 0, ""): false, aFrame(frameSettings, 0, 1, ""): false,
	} {
		if got := opensHTTP2([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]struct {
		mode mode
		sure bool
	}{"": {asHTTP2, false}, "P": {asHTTP2, false}, "PO": {opaque, false}, preface[:23]: {asHTTP2, false}, preface: {asHTTP2, true}, preface + "x": {asHTTP2, true},
		"PRI * HTTP/2.0\r\n\r\nXX": {opaque, true}, "GET / HTTP/1.1\r\n": {asHTTP, true}} {
		if m, sure := speaks([]byte(text)); m != want.mode || sure != want.sure {
			t.Errorf("%q: %v, %v", text, m, sure)
		}
	}
}
