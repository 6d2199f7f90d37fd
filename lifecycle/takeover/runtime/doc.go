// Package runtime runs the program of a working tree on the workstation, in place
// of a workload's container, and keeps up with edits.
//
//	r, err := runtime.New(runtime.Config{Spec: spec, Store: store, …})
//	err = r.Run(ctx)                  // until ctx ends
//	conn, err := r.Dial(ctx, 8080)    // for each connection that the cluster makes
//
// New gives the Runtime of processes on this machine, on Linux and macOS; WSL2 is
// Linux, and on Windows itself it is ErrUnsupported. A Runtime of containers would be
// another implementation. Choose says how an image is run.
//
// # Edits
//
// An edit is another content of the image's inputs, as lifecycle/takeover/watch sees
// it: neither a touch, nor a file that Git ignores, nor one that is no input.
//
//   - A Go program is built by go build in the working tree, with the user's own
//     build cache, and the recipe's package, flags, tags and environment as for the
//     image, but for this machine's platform. The program goes to a private folder.
//     The process before goes on while it is built, and when that fails, of which
//     EventBuildFailed has the places. An edit during a build begins it anew.
//     {{.Fingerprint}} and {{.Tree}} in flags stand for nothing.
//   - A command is ended and started (ReloadRestart), sent a signal (ReloadSignal), or
//     left alone, because it reloads itself (ReloadSelf). In any case an edit starts
//     what has crashed or is parked.
//
// # The exchange of a process
//
// The next process needs the ports of the one before. So requests are held, those
// under way may end, for half of Spec.Grace, then the process gets SIGTERM with all
// that it has started, has the rest of the grace to end, and is killed. Then the next
// one is started, and each port is served once it listens there. Held connections and
// requests wait for Config.Hold at most.
//
// Connections of Dial that carry HTTP/1 are followed message by message, without a
// change to any byte, so that requests are what is held and let end: a kept-alive
// connection is served by one process after the other, and a process that knows of no
// graceful end loses no request. A request is waited for unless it is an event stream
// (text/event-stream), or was upgraded, such as a WebSocket, which ends with its process.
// Where a process ends without having been asked to, because it reloads itself, GET,
// HEAD, OPTIONS and TRACE without a body are made again if no byte of an answer has come.
//
// A connection of HTTP/2 without TLS, such as gRPC, is that of one process. Before that
// is asked to end, its caller is told (GOAWAY) to make its next requests on another
// connection, which waits for the next process; those under way may end, as those of
// HTTP/1, and so may those that it makes until it has heard of that.
//
// All other protocols are connected to one process, and end with it. Each side of a
// connection may end what it says, and hear the other one out.
//
// # Ends
//
// Whatever the process has started is in its process group, unless it makes one of its
// own, and ends with it; with the Runtime; and with this process, however it is killed.
//
// A process that ends by itself, or cannot be started, is restarted within the restart
// budget of lifecycle/supervise, which is kept in Config.Store. Then it is parked until
// the next edit or Restart, also by a Runtime that is made later with the same Store.
// A port that somebody else has is fatal as Run begins (PortError names who), and
// later a crash: a process that has left its process group does not end with it, and
// keeps what it listens on. When Run ends that is an EventTrouble.
//
// When files cannot be watched for a while, which is an EventTrouble, the process goes on.
//
// The environment and the output of the process are written nowhere by this package:
// output goes to Config.Output, for which the caller masks what is secret.
package runtime
