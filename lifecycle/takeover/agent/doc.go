// Package agent is what stands in a taken over container's place: it accepts the
// container's connections and sends each through the workstation's stream (package
// wire), so that a process there serves them. cmd pharos-agent is its program, and
// package image makes images of it.
//
//	caller ── port ── agent ── channel ── stream ── workstation ── local process
//
// # Who serves
//
// Whoever holds the session's key is the workstation. There is one stream at a time:
// a newer one replaces the older one. Connections are opened while the stream serves.
// While it is on hold, or there is none, or the local process rejects them, they
// wait, until that has lasted for [wire.Session.Away]. From then on the agent
// answers: HTTP/1 gets 503 with who took the workload over, since when, and what to
// do; HTTP/2 gets UNAVAILABLE for gRPC and 503 for all else; anything else is closed.
// A connection whose stream breaks is reset, or answered with 503 if it is HTTP/1 and
// not a byte of its answer was sent.
//
// # Probes
//
// Probes are answered for the process, always with success: a breakpoint or a crash
// on the workstation must not get the pod killed, and callers get the clear answer
// above. The kubelet is known by its user agent, so a probe with a User-Agent header
// of its own goes to the process, as one over HTTPS does. A gRPC client sends no
// request before it has the server's settings: on a port with a gRPC probe the agent
// sends empty ones, reads up to the first request, and hands everything on if it is
// not the kubelet's, but for the caller's acknowledgement of those settings. On a
// port with a TCP probe alone, who says nothing for 20 ms is no probe.
//
// # Leaving
//
// Told to end, the agent goes on accepting for [wire.Session.Drain], since the
// cluster takes a while to forget its address, and has callers go elsewhere: answers
// of HTTP/1 carry "Connection: close", HTTP/2 gets GOAWAY at a frame's boundary. Then
// it stops listening, closes connections on which nothing is under way, and lets the
// others end, until two seconds before the grace period is over.
//
// # Bounds
//
// At most 4096 connections are accepted and 2048 of them open at once; the others
// wait. What is under way is bounded by package relay. Nothing that a caller sends is
// logged.
package agent
