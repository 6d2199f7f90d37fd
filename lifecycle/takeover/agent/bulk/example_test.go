package bulk_test

import (
	"fmt"
	"io"
	"net"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/bulk"
)

func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	far, err := l.Accept()
	if err != nil {
		panic(err)
	}
	defer far.Close()

	b := bulk.NewBatch(bulk.Direct(conn))
	b.Hold()
	fmt.Fprint(b, "two records ")
	fmt.Fprint(b, "in one call")
	if err := b.Release(); err != nil {
		panic(err)
	}
	b.Close()
	all, err := io.ReadAll(far)
	fmt.Printf("%s, %v\n", all, err)
	// Output: two records in one call, <nil>
}
