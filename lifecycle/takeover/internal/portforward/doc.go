// Package portforward reaches ports of pods through the API server, as "kubectl port-forward" does: over a WebSocket,
// or over SPDY where the way there does not let one through.
//
//	dialer, err := portforward.New(config)
//	conn, err := dialer.Connect(ctx, "shop", "api-7d4b")
//	defer conn.Close()
//	stream, err := conn.Open(ctx, 8080) // a net.Conn to 127.0.0.1:8080 in the pod
//
// One connection carries many streams. They have no flow control of their own: a stream whose data nobody takes holds
// up the others of its connection after a while. Whoever relays for strangers gives each of them a connection.
//
// # Deadlines
//
// Nothing waits for ever. A dial takes ten seconds at most, the opening of a stream as well, and closing a connection a few
// seconds. A connection is lost when nothing was heard for eight seconds, although the far end, which is the node's
// container runtime, is asked every three; what was sent meanwhile prolongs that by the time that a link of 1 Mbit/s takes for it.
//
// # What the far end does
//
// The container runtime decides what half of a stream means: containerd takes the end of either direction for that of both, a
// second later.
//
// # Rights
//
// In the pod's namespace: create on pods/portforward, and get on it for the WebSocket.
package portforward
