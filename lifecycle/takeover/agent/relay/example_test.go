package relay_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"golang.org/x/crypto/ssh"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// At a workstation every channel becomes a connection to the local process.
func ExampleRelay_Join() {
	near, far := pipe() // of the port-forward
	go agentOf(near)    // opens a channel for a caller that says "hello"

	conn, channels, requests, err := ssh.NewClientConn(relay.Transport(far), "", &ssh.ClientConfig{
		User: wire.User, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	channel, requests, err := (<-channels).Accept()
	if err != nil {
		log.Fatal(err)
	}
	toProcess, process := pipe()
	go func() {
		request, _ := io.ReadAll(process)
		fmt.Fprintf(process, "%s to you too", request)
		process.Close()
	}()
	result, err := relay.New(relay.Config{}).Join(relay.Pair{Conn: toProcess, Channel: channel, Requests: requests})
	fmt.Println(result.Received, "bytes to the process,", result.Sent, "from it,", err)
	// Output: 5 bytes to the process, 16 from it, <nil>
}

func agentOf(transport net.Conn) {
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(exampleKey)
	server, _, requests, err := ssh.NewServerConn(relay.Transport(transport), config)
	if err != nil {
		log.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	channel, requests, err := server.OpenChannel(wire.ChannelConnection, nil)
	if err != nil {
		log.Fatal(err)
	}
	accepted, caller := pipe()
	go func() {
		io.WriteString(caller, "hello")
		caller.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, caller)
	}()
	relay.New(relay.Config{}).Join(relay.Pair{Conn: accepted, Channel: channel, Requests: requests})
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
