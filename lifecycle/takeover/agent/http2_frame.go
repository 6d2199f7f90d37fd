package agent

import (
	"encoding/binary"
	"errors"
	"io"
)

// preface is what every HTTP/2 client sends first (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const (
	frameHead    = 9
	maxFrameSize = 16 << 10 // what a peer may send that was told nothing else
)

// Frame types and flags (RFC 9113, section 6).
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
	flagPadded     = 0x8
	flagPriority   = 0x20
)

const lastStream = 1<<31 - 1

var errNotHTTP2 = errors.New("not HTTP/2")

// frame is the head of a frame.
type frame struct {
	length int
	kind   byte
	flags  byte
	stream uint32
}

func parseFrame(head []byte) frame {
	return frame{
		length: int(head[0])<<16 | int(head[1])<<8 | int(head[2]),
		kind:   head[3], flags: head[4],
		stream: binary.BigEndian.Uint32(head[5:]) & lastStream,
	}
}

// isAck says whether it is the answer to a SETTINGS frame.
func (f frame) isAck() bool {
	return f.kind == frameSettings && f.flags&flagAck != 0 && f.length == 0
}

// opensHeaders says whether nothing but a CONTINUATION frame may follow.
func (f frame) opensHeaders() bool {
	switch f.kind {
	case frameHeaders, framePushPromise, frameContinuation:
		return f.flags&flagEndHeaders == 0
	}
	return false
}

func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	b = append(b, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

// goAway is the frame that has a client open no more streams here, and finish those
// that it has.
func goAway(last uint32) []byte {
	payload := binary.BigEndian.AppendUint32(nil, last)
	payload = binary.BigEndian.AppendUint32(payload, 0) // NO_ERROR
	return appendFrame(nil, frameGoAway, 0, 0, payload)
}

// readFrameHead reads the head of a frame. The error matches errNotHTTP2 for one that
// is too long.
func readFrameHead(r io.Reader) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	f := parseFrame(head[:])
	if f.length > maxFrameSize {
		return frame{}, errNotHTTP2
	}
	return f, nil
}

// headerBlock returns the part of a HEADERS frame's payload that is compressed.
func headerBlock(f frame, payload []byte) ([]byte, error) {
	padding := 0
	if f.flags&flagPadded != 0 {
		if len(payload) < 1 {
			return nil, errNotHTTP2
		}
		padding, payload = int(payload[0]), payload[1:]
	}
	if f.flags&flagPriority != 0 {
		if len(payload) < 5 {
			return nil, errNotHTTP2
		}
		payload = payload[5:]
	}
	if padding > len(payload) {
		return nil, errNotHTTP2
	}
	return payload[:len(payload)-padding], nil
}
