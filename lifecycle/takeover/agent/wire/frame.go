package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Kind is what a frame says.
type Kind byte

// The kinds of frames, as the package's documentation says.
const (
	KindOpen Kind = 1 + iota
	KindAccept
	KindReject
	KindData
	KindEnd
	KindClose
	KindConsumed
	KindReport
	KindRequest
	KindReply
)

const (
	// HeadSize is how long the head of a frame is.
	HeadSize = 8
	// MaxData is the longest payload of a KindData. Its frame takes four records of TLS of 16 KiB, 22 bytes each for TLS
	// itself included, and with what carries it on, 16 bytes for SPDY and a WebSocket, 64 KiB on the way: whoever copies it
	// on in pieces has no odd bytes left over, which would cost as much as a whole piece.
	MaxData = 64<<10 - 4*22 - HeadSize - 16
	// MaxPayload is the longest payload of any other.
	MaxPayload = 1 << 10
)

// ErrFrame is matched by the error of a frame that is none.
var ErrFrame = errors.New("not a frame of the stream")

// Head is the head of a frame: a byte for the kind, three for the payload's size, and four for the channel, or for the
// number of a request.
type Head struct {
	Kind Kind
	Size int
	ID   uint32
}

// Append appends the head to b.
func (h Head) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.Kind)<<24|uint32(h.Size))
	return binary.BigEndian.AppendUint32(b, h.ID)
}

// ParseHead reads a head. The error matches ErrFrame for a kind that there is not, and a payload that is longer than it
// may be.
func ParseHead(b [HeadSize]byte) (Head, error) {
	first := binary.BigEndian.Uint32(b[:])
	h := Head{Kind: Kind(first >> 24), Size: int(first & (1<<24 - 1)), ID: binary.BigEndian.Uint32(b[4:])}
	most := MaxPayload
	if h.Kind == KindData {
		most = MaxData
	}
	if h.Kind < KindOpen || h.Kind > KindReply || h.Size > most {
		return Head{}, fmt.Errorf("%w: kind %d with %d bytes", ErrFrame, h.Kind, h.Size)
	}
	return h, nil
}

// Append appends the payload of a KindOpen to b.
func (c Connection) Append(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, c.Port), c.Peer...)
}

// ParseConnection reads the payload of a KindOpen.
func ParseConnection(b []byte) (Connection, error) {
	if len(b) < 2 {
		return Connection{}, fmt.Errorf("%w: a connection without a port", ErrFrame)
	}
	return Connection{Port: binary.BigEndian.Uint16(b), Peer: string(b[2:])}, nil
}

// AppendConsumed appends the payload of a KindConsumed to b.
func AppendConsumed(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

// ParseConsumed reads the payload of a KindConsumed.
func ParseConsumed(b []byte) (int, error) {
	if len(b) != 4 {
		return 0, fmt.Errorf("%w: %d bytes do not say what was consumed", ErrFrame, len(b))
	}
	return int(binary.BigEndian.Uint32(b)), nil
}
