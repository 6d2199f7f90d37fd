package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/tunnel"
)

// takenOver is what the workstation's child is told on stdin.
type takenOver struct {
	Kubeconfig, Namespace, Image string
	Process                      string // the address of what serves here
	UID                          types.UID
	Session                      wire.Session
	Seed                         []byte // of the session's key
}

// carry is a workstation: it says "connected" when it has a stream, and ends when nobody listens to it any more.
func carry(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	in := json.NewDecoder(stdin)
	var to takenOver
	if err := in.Decode(&to); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", to.Kubeconfig)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t, err := tunnel.New(tunnel.Config{
		REST: config, Namespace: to.Namespace, Deployment: takeoverName, UID: to.UID, Container: takeoverName,
		AgentImage: to.Image, Session: to.Session, Key: ed25519.NewKeyFromSeed(to.Seed),
		Dial: func(ctx context.Context, _ uint16) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", to.Process)
		},
		Observed: func(s tunnel.State) {
			if s.Connected() > 0 {
				fmt.Fprintln(stdout, "connected")
			}
		},
	})
	if err != nil {
		return err
	}
	go func() { // the other end of stdin goes with whoever started this
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	return t.Run(ctx)
}
