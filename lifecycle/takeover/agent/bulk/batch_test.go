package bulk_test

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/bulk"
)

// What is held goes out in pieces, in order, and what comes after Release at once.
func TestBatch(t *testing.T) {
	t.Parallel()
	conn := &recorder{}
	b := bulk.NewBatch(conn)
	var want []byte
	write := func(n int) {
		t.Helper()
		p := bytes.Repeat([]byte{byte(len(want) + 1)}, n)
		want = append(want, p...)
		if m, err := b.Write(p); m != n || err != nil {
			t.Fatal(m, err)
		}
	}
	write(3)
	b.Hold()
	write(100 << 10)
	write(100 << 10)
	if err := b.Release(); err != nil {
		t.Fatal(err)
	}
	write(5)
	if got := bytes.Join(conn.writes, nil); !bytes.Equal(got, want) {
		t.Error("other bytes went out")
	}
	var sizes []int
	for _, w := range conn.writes {
		sizes = append(sizes, len(w))
	}
	if len(sizes) != 4 || sizes[0] != 3 || sizes[1] != 128<<10 || sizes[2] != 72<<10 || sizes[3] != 5 {
		t.Errorf("went out in %v", sizes)
	}
	conn.err = errors.New("gone")
	b.Hold()
	write(1)
	if err := b.Release(); !errors.Is(err, conn.err) {
		t.Errorf("a failed write: %v", err)
	}
}

type recorder struct {
	net.Conn
	writes [][]byte
	err    error
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, bytes.Clone(p))
	return len(p), r.err
}
