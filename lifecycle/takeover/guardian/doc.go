// Package guardian runs the session of a takeover in a process of its own, which goes on
// when the terminal is gone, and is how others look at it and ask something of it.
//
//	client, err := guardian.Start(ctx, guardian.StartConfig{Folder: folder, Program: program, Args: args}) // from a command
//	server, err := guardian.Listen(guardian.Config{Folder: folder, New: newSession})                       // in the new process
//	err = server.Serve(ctx)
//
//	client, err := guardian.Connect(ctx, folder) // from any other command
//	status, err := client.Status(ctx)
//
// # The process
//
// [Start] runs a program that calls [Listen] and [Server.Serve], in a session of its own
// (setsid), with nothing of the terminal but its log, a file in the folder. It renews the lease,
// and has the processes, the streams and the forwards of the takeover. When it is
// killed all of these end with it, and the journal says what is left: the next
// takeover.Session.Run goes on, and Finish hands back. If nobody comes, the lease ends,
// and the workloads are put back.
//
// # The protocol
//
// Over a Unix socket that only the user can open go lines of JSON. The client's first
// line is a [Request]. The answers are lines, too, of the types
//
//	status   Line.Status: how the session is
//	log      Line.Log: one line that a process or a build has printed, without secrets
//	event    Line.Event: see takeover.Event
//	answer   what was asked was done, or Line.Error says why not; Line.ID is the request's
//
//	status   is answered by a status
//	logs     by logs, those that are still kept, and with follow those that come, and an
//	         answer in the end
//	attach   by a status, events so far and those that come, until the session ends. Requests may
//	         follow in the same connection, whose answers come among the events
//	handback, restart, unpark, stop
//	         by an answer, once it is done
//
// Every line has a version, 1. Within it, types and fields are only added. [Schema] is
// the JSON schema of all lines, both ways; it lists every field, and what it does not
// list is not sent. There is no value of an environment, no credential, and, but in
// logs, nothing that a program has printed.
//
// What is no request is answered with an error of the class usage: what is not known, is of
// another version, or has more than 64 KiB. A client that does not read for 10 seconds is
// hung up on, and the session and other clients are not held up meanwhile. At most 128
// clients may be connected, and 16 requests of one be under way. A process of another
// user is hung up on, whatever the modes of the socket are.
//
// # Where the socket is
//
// In the folder, or where its path would be too long for a socket in a private folder
// elsewhere; the file guardian.json in the folder says where, and which process it is.
package guardian
