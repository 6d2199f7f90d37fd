// Package portforwardtest is the far end of port-forwards for tests: an API server's handler and the container runtime
// behind it in one, which speaks SPDY and refuses WebSockets.
package portforwardtest
