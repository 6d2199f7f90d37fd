// Ends is one end of a stream in a process of its own, whose memory can be looked at.
//
//	ends agent SESSION                     an agent with the session of that file
//	ends workstation CONTROL ADDRESS KEY   serves the agent at CONTROL by the process at ADDRESS
//
// KEY is the seed of the session's key in hexadecimal. An agent prints where it
// listens, a workstation "ready". Both end when their input does.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/relay"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

func main() {
	debug.SetMemoryLimit(52 << 20)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var err error
	if os.Args[1] == "agent" {
		err = runAgent(ctx, os.Args[2])
	} else {
		err = runWorkstation(ctx, os.Args[2], os.Args[3], os.Args[4])
	}
	if err != nil {
		log.Fatal(err)
	}
}

// runAgent listens on loopback, and prints where.
func runAgent(ctx context.Context, path string) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	session, err := wire.ParseSession(doc)
	if err != nil {
		return err
	}
	return agent.Run(ctx, agent.Config{Session: session, Pod: "pod", Listen: func(context.Context, string) (net.Listener, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			fmt.Println(l.Addr())
		}
		return l, err
	}})
}

func runWorkstation(ctx context.Context, control, address, key string) error {
	seed, err := hex.DecodeString(key)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", control)
	if err != nil {
		return err
	}
	stream, err := relay.Dial(conn, relay.Keys{Own: ed25519.NewKeyFromSeed(seed), Known: func(ed25519.PublicKey) error { return nil }})
	if err != nil {
		return err
	}
	defer stream.Close()
	go func() {
		for range stream.Requests {
		}
	}()
	r := relay.New()
	go func() {
		for o := range stream.Offers {
			go join(r, o, address)
		}
	}()
	hello, err := json.Marshal(wire.Hello{Version: wire.Version, Session: "s1"})
	if err != nil {
		return err
	}
	if ok, reply, err := stream.Ask(wire.RequestHello, hello); err != nil || !ok {
		return fmt.Errorf("hello: %s, %w", reply, err)
	}
	if _, _, err := stream.Ask(wire.RequestServe, nil); err != nil {
		return err
	}
	fmt.Println("ready")
	for tick := time.Tick(wire.KeepaliveInterval); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			if _, _, err := stream.Ask(wire.RequestKeepalive, nil); err != nil {
				return err
			}
		}
	}
}

func join(r *relay.Relay, o *relay.Offer, address string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		o.Reject(wire.ReasonProcess)
		return
	}
	channel, err := o.Accept()
	if err != nil {
		conn.Close()
		return
	}
	r.Join(relay.Pair{Conn: conn, Channel: channel})
}
