// Package wire is the protocol between the agent that stands in a taken over
// container's place and the workstation that serves its traffic: the session
// document that the agent's image carries, the names of what goes over the
// stream, and the payloads.
//
// # The stream
//
// The stream is TLS 1.3. The agent is the server, on the loopback port
// [Session.Control] of its pod; the workstation reaches it by the API server's
// port-forward. Both show a certificate with an ed25519 key, and prove that they have
// it, and nothing else in a certificate counts: the workstation's is [Session.Key], and
// the agent makes its own when it starts. There are no authorities, names, tickets or
// resumptions. An agent has one connection at a time: a newer authenticated one replaces
// the older one.
//
// In it are frames both ways: a [Head], and a payload.
//
//	Open      of the agent, a [Connection]: a channel for it
//	Accept    the workstation takes the channel
//	Reject    or it does not: a [Reason], one byte
//	Data      on a channel: bytes of the connection, 1 to MaxData
//	End       on a channel: the data end here, properly
//	Close     on a channel: both directions end here. It is answered with the same
//	Consumed  on a channel: so many more bytes were handed on, 4 bytes
//	Report    on a channel: the sender waits, and asks for Consumed
//	Request   a [Request], one byte, and what it says. The ID is the request's number,
//	          and 0 if no reply is wanted
//	Reply     to the request of that number: 1 for yes or 0, one byte, and what it says
//
// Numbers are big-endian. The agent numbers its channels, and each end its requests, and
// none is used again. A frame on a channel that is not there any more is ignored: its
// sender has not heard of that yet. Any other that is not as it should be ends the
// stream.
//
// The workstation's requests, all with a reply:
//
//	hello      JSON Hello; the reply is JSON Welcome. It comes first, and is refused
//	           for another version or session
//	serve      from now on connections are opened
//	hold       from now on new connections wait
//	keepalive  every KeepaliveInterval, also on hold
//
// A stream begins on hold, so that whoever comes back can look at the lease before
// a byte is served. Connections that are open already are not touched by a hold.
// A stream on which not a byte has come for [Session.Away] is closed by the agent, and the
// connections in it with it. Any byte is a sign of life, since on a slow way a keepalive
// is behind much else; where there is nothing else to send, it is the one there is.
//
// The agent sends draining, without a reply, when it was told to end. It goes on opening
// channels until it has gone.
//
// # Connections
//
// The agent opens a channel for each connection that it accepts. The workstation accepts
// it when the local process has accepted, and rejects it with [ReasonProcess] otherwise,
// in a part of [Session.Away]: the agent tries again until the process has been away for
// that long, and answers for it from then on. [ReasonEnding] says nothing of the process.
//
// A sender has no more bytes under way, sent and not consumed yet, than its budget
// allows; package relay has the rule, and is both ends of it. Data that end without
// End, by a Close or since the stream broke, were cut off, and the connection is reset
// and not closed: nobody takes half an answer for a whole one.
//
// # The session document
//
// [Session] is JSON, one document in the image at [SessionPath]. Only the exact
// bytes that [Session.Encode] makes are accepted, so that there are no unknown or
// repeated fields and no second spelling of anything. It holds no secret.
package wire
