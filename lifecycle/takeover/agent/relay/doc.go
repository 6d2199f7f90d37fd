// Package relay is both ends of a takeover's stream, in the protocol of package wire, and
// joins connections with its channels: bytes both ways, with half-close, exact ends and
// bounded memory. The agent and the workstation both use it, since flow control takes
// two.
//
// # Ends
//
// A direction that ends with the connection's EOF is closed on the other side, and
// the other direction goes on. A direction that was cut off, since a connection was
// reset or the stream broke, resets the connection on the other side: nobody takes
// half an answer for a whole one. Who takes none of what came before has a second.
// So it is with a process whose caller has ended what he sends, and goes before he has
// his answer; a caller has all of an answer that has ended, however slowly he takes it.
//
// # Memory
//
// The sender keeps little under way. Every connection may have 4 KiB sent and not consumed,
// and borrow more from 4 MiB for all of them: little at first, then as much as it has had
// consumed, up to half of what is left. One connection is fast, many share, those that
// stall take little, and none starves. A frame counts 64 bytes more than it holds, so
// that tiny ones are bounded too; none is sent for a small part of what may be under way,
// since it costs those between the two ends as much as a big one. The receiver reports
// what it consumed every 512 KiB, and when the sender asks, who has less than that under
// way and has to wait. All of it together is at most
//
//	connections × 4 KiB + 4 MiB
//
// and as much again for buffers. A receiver ends the stream of a sender who has more under
// way than any may.
//
// What comes is always read, whatever waits to be sent: so the two ends cannot wait for
// each other. Only data waits, until what others send has gone out.
//
// # Bulk
//
// Each frame, record of TLS and write costs processor time in every process between the
// two ends, which are busier than these. So a direction with much to send reads it in
// pieces that are whole ones for them (wire.MaxData), and what is
// written while another write is under way goes out together. A goroutine that writes alone sends its frames itself.
//
// # Concurrency
//
// A Relay is safe for concurrent use, and may serve any number of streams.
package relay
