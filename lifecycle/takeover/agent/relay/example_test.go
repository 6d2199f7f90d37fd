package relay_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// At a workstation every channel becomes a connection to the local process.
func ExampleRelay_Join() {
	near, far := pipe() // of the port-forward
	go agentOf(near)    // opens a channel for a caller that says "hello"

	stream, err := relay.Dial(far, exampleKeys())
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	channel, err := (<-stream.Offers).Accept()
	if err != nil {
		log.Fatal(err)
	}
	toProcess, process := pipe()
	go func() {
		request, _ := io.ReadAll(process)
		fmt.Fprintf(process, "%s to you too", request)
		process.Close()
	}()
	result, err := relay.New().Join(relay.Pair{Conn: toProcess, Channel: channel})
	fmt.Println(result.Received, "bytes to the process,", result.Sent, "from it,", err)
	// Output: 5 bytes to the process, 16 from it, <nil>
}

// exampleKeys are those of an end that takes any other: a real one knows the other's key.
func exampleKeys() relay.Keys {
	_, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	return relay.Keys{Own: own, Known: func(ed25519.PublicKey) error { return nil }}
}

func agentOf(conn net.Conn) {
	stream, err := relay.Accept(conn, exampleKeys())
	if err != nil {
		log.Fatal(err)
	}
	channel, err := stream.Open(wire.Connection{Port: 8080, Peer: "10.244.0.7:41234"})
	if err != nil {
		log.Fatal(err)
	}
	accepted, caller := pipe()
	go func() {
		io.WriteString(caller, "hello")
		caller.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, caller)
	}()
	relay.New().Join(relay.Pair{Conn: accepted, Channel: channel})
}

// pipe returns the two ends of a connection.
func pipe() (near, far net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	if near, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		log.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		log.Fatal(err)
	}
	return near, far
}
