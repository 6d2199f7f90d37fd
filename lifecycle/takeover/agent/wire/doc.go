// Package wire is the protocol between the agent that stands in a taken over
// container's place and the workstation that serves its traffic: the session
// document that the agent's image carries, the names of what goes over the
// stream, and the payloads.
//
// # The stream
//
// The stream is SSH 2. The agent is the server, on the loopback port
// [Session.Control] of its pod; the workstation reaches it by the API server's
// port-forward and authenticates as [User] with the ed25519 key whose public half
// is [Session.Key]. An agent has one connection at a time: a newer authenticated
// one replaces the older one. The agent makes a host key when it starts.
//
// The workstation's global requests, all with want-reply:
//
//	hello@pharos.dev      JSON Hello; the reply is JSON Welcome. It comes first, and
//	                      is refused for another version or session
//	serve@pharos.dev      no payload: from now on connections are opened
//	hold@pharos.dev       no payload: from now on new connections wait
//	keepalive@pharos.dev  no payload: every KeepaliveInterval, also on hold
//
// A stream begins on hold, so that whoever comes back can look at the lease before
// a byte is served. Connections that are open already are not touched by a hold.
// A stream without any request for [Session.Away] is closed by the agent, and the
// connections in it with it.
//
// The agent sends draining@pharos.dev, without want-reply, when it was told to end.
// It goes on opening channels until it has gone.
//
// # Connections
//
// For each connection that the agent accepts it opens a channel of the type
// pharos-connection@pharos.dev with [Connection] as its payload (ssh.Marshal). The
// workstation accepts it when the local process has accepted, and rejects it with
// ssh.ConnectionFailed otherwise, in a part of [Session.Away]: the agent tries again
// until the process has been away for that long, and answers for it from then on.
// ssh.ResourceShortage says nothing of the process: the workstation is about to end.
// The channel's data are the connection's bytes. In each direction, on the channel and without want-reply:
//
//	consumed@pharos.dev   Consumed: so many more bytes were handed on
//	report@pharos.dev     no payload: the sender waits, and asks for consumed
//	end@pharos.dev        no payload: the data end here, properly. SSH's EOF follows
//
// A sender has no more bytes under way, sent and not consumed yet, than its budget
// allows; package relay has the rule, and is both ends of it. Data that end without
// end@pharos.dev, by a close or since the stream broke, were cut off, and the
// connection is reset and not closed: nobody takes half an answer for a whole one.
//
// # The session document
//
// [Session] is JSON, one document in the image at [SessionPath]. Only the exact
// bytes that [Session.Encode] makes are accepted, so that there are no unknown or
// repeated fields and no second spelling of anything. It holds no secret.
package wire
