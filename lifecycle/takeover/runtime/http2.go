package runtime

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// preface is what every HTTP/2 client sends first: RFC 9113, 3.4.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Frame types and flags: RFC 9113, 6.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameContinuation = 0x9

	flagAck        = 0x1 // of SETTINGS and PING
	flagEndStream  = 0x1 // of HEADERS and DATA
	flagEndHeaders = 0x4

	frameHead    = 9
	maxFrameSize = 16 << 10 // of a peer that was told nothing else
	lastStream   = 1<<31 - 1
)

// pingData is what a caller is asked to send back, and nobody else would ask for.
const pingData = "pharos\x00\x01"

// errNotHTTP2 is returned for what does not begin with the preface.
var errNotHTTP2 = errors.New("this is no HTTP/2")

// frame is the head of a frame.
type frame struct {
	length      int
	kind, flags byte
	stream      uint32
}

func parseFrame(head []byte) frame {
	return frame{
		length: int(head[0])<<16 | int(head[1])<<8 | int(head[2]),
		kind:   head[3], flags: head[4], stream: binary.BigEndian.Uint32(head[5:]) & lastStream,
	}
}

func appendFrame(b []byte, kind byte, payload []byte) []byte {
	b = append(b, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, 0, 0, 0, 0, 0)
	return append(b, payload...)
}

// appendGoAway appends what says that no stream after the last one is served.
func appendGoAway(b []byte, last uint32) []byte {
	return appendFrame(b, frameGoAway, binary.BigEndian.AppendUint64(nil, uint64(last)<<32)) // without an error
}

// opensHTTP2 says whether a process that speaks first begins HTTP/2: RFC 9113, 3.4.
func opensHTTP2(p []byte) bool {
	if len(p) < frameHead {
		return false
	}
	f := parseFrame(p)
	return f.kind == frameSettings && f.flags == 0 && f.stream == 0 && f.length%6 == 0 && f.length <= maxFrameSize
}

// http2 follows a connection of HTTP/2, to know which requests are without their whole
// answer, and to have the caller make the next ones elsewhere. It changes no byte of the
// process. Its connection's lock is held.
type http2 struct {
	// Of what the caller sends.
	begun int    // bytes of the preface
	left  int    // bytes of a frame's payload that are to come
	held  []byte // the beginning of a frame

	// Of what the process sends.
	head    [frameHead]byte
	have    int // bytes of head
	rest    int // bytes of a frame's payload that are to come
	blocked bool
	any     bool
	goAway  []byte // the last stream, as it comes; nil if it does not

	highest uint32              // the last stream that the caller has opened
	open    map[uint32]struct{} // those without their whole answer

	leaving  bool
	answered bool   // the caller knows, and opens no more streams
	sealed   bool   // nothing goes to the process any more
	say      []byte // to the caller, between two frames
}

func newHTTP2() *http2 { return &http2{open: map[uint32]struct{}{}} }

// fromCaller returns what of the caller's bytes goes to the process.
func (h *http2) fromCaller(p []byte) ([]byte, error) {
	if len(h.held) > 0 {
		p = append(h.held, p...)
		h.held = nil
	}
	at := min(len(p), len(preface)-h.begun)
	if string(p[:at]) != preface[h.begun:h.begun+at] {
		return p, errNotHTTP2
	}
	h.begun += at
	for at < len(p) {
		if h.left > 0 {
			n := min(h.left, len(p)-at)
			h.left -= n
			at += n
			continue
		}
		want := frameHead
		if len(p)-at >= want && h.mayAnswer(parseFrame(p[at:])) {
			want += len(pingData)
		}
		if len(p)-at < want {
			h.held = bytes.Clone(p[at:])
			return p[:at], nil
		}
		if want > frameHead && string(p[at+frameHead:at+want]) == pingData {
			h.answered = true
			p = append(p[:at:at], p[at+want:]...) // the process has not asked
			continue
		}
		h.request(parseFrame(p[at:]))
		at += frameHead
	}
	return p, nil
}

// mayAnswer says whether a frame may be what the caller was asked to send back.
func (h *http2) mayAnswer(f frame) bool {
	return h.leaving && f.kind == framePing && f.flags&flagAck != 0 && f.length == len(pingData)
}

func (h *http2) request(f frame) {
	h.left = f.length
	switch {
	case f.kind == frameHeaders && f.stream > h.highest:
		h.highest = f.stream
		h.open[f.stream] = struct{}{}
	case f.kind == frameReset:
		delete(h.open, f.stream)
	}
}

// fromProcess follows what the process sends.
func (h *http2) fromProcess(p []byte) {
	for len(p) > 0 {
		if h.rest > 0 {
			n := min(h.rest, len(p))
			h.lastOf(p[:n])
			h.rest -= n
			p = p[n:]
			continue
		}
		n := copy(h.head[h.have:], p)
		h.have += n
		p = p[n:]
		if h.have == frameHead {
			h.have, h.any = 0, true
			h.response(parseFrame(h.head[:]))
		}
	}
}

func (h *http2) response(f frame) {
	h.rest, h.blocked, h.goAway = f.length, false, nil
	switch f.kind {
	case frameHeaders, framePushPromise, frameContinuation:
		h.blocked = f.flags&flagEndHeaders == 0
	case frameGoAway:
		h.goAway = []byte{}
	}
	if f.kind == frameReset || (f.kind == frameData || f.kind == frameHeaders) && f.flags&flagEndStream != 0 {
		delete(h.open, f.stream)
	}
}

// lastOf reads of a GOAWAY frame which streams the process serves still.
func (h *http2) lastOf(p []byte) {
	if h.goAway == nil {
		return
	}
	h.goAway = append(h.goAway, p[:min(len(p), 4-len(h.goAway))]...)
	if len(h.goAway) < 4 {
		return
	}
	last := binary.BigEndian.Uint32(h.goAway) & lastStream
	for stream := range h.open {
		if stream > last {
			delete(h.open, stream)
		}
	}
	h.goAway = nil
}

// boundary says that a frame may be put in before what the process sends next.
func (h *http2) boundary() bool { return h.any && h.have == 0 && h.rest == 0 && !h.blocked }

// toBoundary is how many bytes of the process may be read without one being missed.
func (h *http2) toBoundary() int {
	if h.rest > 0 {
		return h.rest
	}
	return frameHead - h.have
}

// leave asks the caller to open no more streams, and to say when it has heard that:
// those that it opens until then are served, too.
func (h *http2) leave() {
	h.leaving = true
	h.say = appendFrame(appendGoAway(nil, lastStream), framePing, []byte(pingData))
}

// seal ends what goes to the process, once the caller knows and has all answers. A
// stream that it opens all the same it is told to open elsewhere.
func (h *http2) seal() bool {
	if !h.leaving || !h.answered || h.sealed || len(h.open) > 0 {
		return false
	}
	h.sealed = true
	h.say = appendGoAway(h.say, h.highest)
	return true
}
