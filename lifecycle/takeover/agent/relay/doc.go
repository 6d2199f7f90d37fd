// Package relay joins a connection and a channel of a takeover's stream: bytes both
// ways, with half-close, exact ends and bounded memory. The agent and the
// workstation both use it, since flow control takes two.
//
// # Ends
//
// A direction that ends with the connection's EOF is closed on the other side, and
// the other direction goes on. A direction that was cut off, since a connection was
// reset or the stream broke, resets the connection on the other side: nobody takes
// half an answer for a whole one. Who takes none of what came before has a second.
//
// # Memory
//
// SSH gives each channel a window of 2 MiB, so that a hundred stalled connections
// hold 200 MiB at the receiver. Here the sender keeps less under way: every
// connection may have Guaranteed bytes sent and not consumed, and borrow more from
// Shared: little at first, then as much as it has had consumed, up to half of what
// is left. One connection is fast, many share, those that stall take little,
// and none starves. A packet counts 64 bytes more than it holds, so that tiny ones
// are bounded too. The receiver reports what it consumed every 64 KiB, and when the
// sender asks since it has to wait. All of it together is at most
//
//	connections × Guaranteed + Shared
//
// and as much again for buffers. Writes to a stream through [Transport] never wait,
// since what is under way is bounded already: so the two ends cannot wait for each
// other.
//
// # Concurrency
//
// A Relay is safe for concurrent use, and may serve any number of streams.
package relay
