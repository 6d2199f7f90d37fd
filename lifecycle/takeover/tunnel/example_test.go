package tunnel_test

import (
	"context"
	"fmt"
	"net"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/takeover/tunnel"
)

func Example() {
	session, key := newSession()
	t, err := tunnel.New(tunnel.Config{
		REST:      &rest.Config{Host: "https://api.example.org"},
		Namespace: "shop", Deployment: "api", UID: "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
		Container: "main", AgentImage: "registry.example.org/pharos-agent@sha256:…",
		Session: session, Key: key,
		Dial: func(ctx context.Context, port uint16) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// t.Run(ctx) carries traffic until ctx ends.
	fmt.Println(t.State().Connected(), "of", len(t.State().Pods), "pods have a stream")

	// Output: 0 of 0 pods have a stream
}
