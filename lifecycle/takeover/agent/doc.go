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
// While it is on hold, or there is none, or the local process rejects them or does not
// answer, they wait, until that has lasted for [wire.Session.Away]; nobody waits for
// longer. From then on the agent answers: HTTP/1 gets 503 with who took the workload
// over, since when, and what to do; HTTP/2 gets UNAVAILABLE for gRPC and 503 for all
// else; anything else is closed.
//
// So is told only what the process never got a byte of. A connection of HTTP/1 that is
// cut off with a request under way gets 502 if not a byte of the answer was sent: the
// request may have been processed, and must not be made again unasked. Any other is
// reset.
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
// others end, until two seconds before the grace period is over. Who still waits for a
// workstation then is answered at once.
//
// # Bounds
//
// 2048 connections have a place: they are open, or wait for the process. 256 more may be
// in the lobby, where it is found out whether they are probes, and where they wait for a
// place. Whoever comes gets in there, and the one that is there for the longest has to
// go: so probes are answered however many callers hang. What is under way is bounded by
// package relay. Of a caller's head nothing is kept but the beginning of a line, except
// for 2 KiB while it is not known who it is. Nothing that a caller sends is logged.
//
// # HTTP/1
//
// What both sides say is handed on byte by byte, and followed only to know where a
// message ends. Where two readers may find that in two places (a length and a coding,
// lines that are continued or end without a carriage return), the agent finds it
// nowhere: it changes nothing on that connection from then on, and lets it end by itself.
package agent
