package main

import (
	"fmt"
	"net"
	"os"

	"github.com/pharos-dev/pharos/internal/bench/exchange"
)

func main() {
	l, err := net.Listen("tcp", os.Args[1])
	if err == nil {
		fmt.Println(l.Addr())
		err = exchange.Serve(l)
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
