package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

func TestFrameGolden(t *testing.T) {
	t.Parallel()
	got := wire.Head{Kind: wire.KindData, Size: 0x1234, ID: 0x89abcdef}.Append(nil)
	got = wire.Connection{Port: 8080, Peer: "10.0.0.1:5"}.Append(got)
	got = wire.AppendConsumed(got, 0x01020304)
	want := []byte("\x04\x00\x12\x34\x89\xab\xcd\xef" + "\x1f\x9010.0.0.1:5" + "\x01\x02\x03\x04")
	if !bytes.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A head is read as it was written, or is none.
func FuzzParseHead(f *testing.F) {
	f.Add([]byte{4, 0, 1, 0, 0, 0, 0, 7})
	f.Add([]byte{4, 0xff, 0xff, 0xff, 0, 0, 0, 7})
	f.Add([]byte{11, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < wire.HeadSize {
			return
		}
		h, err := wire.ParseHead([wire.HeadSize]byte(b))
		if err != nil {
			if !errors.Is(err, wire.ErrFrame) {
				t.Error(err)
			}
			return
		}
		if h.Size > wire.MaxData || h.Kind != wire.KindData && h.Size > wire.MaxPayload {
			t.Errorf("%d bytes of kind %d", h.Size, h.Kind)
		}
		if again := h.Append(nil); !bytes.Equal(again, b[:wire.HeadSize]) {
			t.Errorf("%x was read, and %x is written", b[:wire.HeadSize], again)
		}
	})
}

func FuzzPayloads(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x1f\x9010.0.0.1:5"))
	f.Add([]byte{0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := wire.ParseConnection(b); err == nil && !bytes.Equal(c.Append(nil), b) {
			t.Errorf("%x is %+v", b, c)
		}
		if n, err := wire.ParseConsumed(b); err == nil && !bytes.Equal(wire.AppendConsumed(nil, n), b) {
			t.Errorf("%x is %d", b, n)
		}
	})
}
