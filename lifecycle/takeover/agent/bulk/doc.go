// Package bulk carries many bytes over connections with few calls of the system, and with little of Go's scheduler.
//
// A [Batch] is a connection under TLS: records are read and written many at once, where TLS itself does so one by one.
//
// [Direct] is a TCP connection whose calls of the system the scheduler is not told of (on Linux; elsewhere it is the
// connection itself). What is told is watched: a thread is woken for it, and takes the processor away from who copies much. For
// a relay that costs more than the copies, and a call on a socket that does not block needs no watching.
package bulk
