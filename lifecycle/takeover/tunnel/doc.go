// Package tunnel is the workstation's end of a takeover's streams: it carries the traffic of all agent pods of one workload to
// a process that runs here.
//
//	t, err := tunnel.New(tunnel.Config{
//		REST: config, Namespace: "shop", Deployment: "api", UID: uid,
//		Container: "main", AgentImage: image, Session: session, Key: key,
//		Dial: process.Dial, // a connection to the local process
//	})
//	err = t.Run(ctx) // until ctx ends
//
// # Pods
//
// It watches the Deployment's pods and has a stream, in the protocol of package wire, to each whose container runs the agent, whatever
// their number, until the pod is gone: also while it ends. A pod counts that a ReplicaSet of the Deployment with
// this very UID owns, and whose container has the image of this session's agent. A stream that is lost, as pods, networks
// and API servers come and go, is made again for as long as the pod is there, at first at once and at the longest after
// five seconds.
//
// The agent's key is pinned for each run of its container: a stream to another key is refused.
//
// # Connections
//
// For each connection that an agent has accepted, Config.Dial is called; nothing of it is read before that has returned.
// Then bytes go both ways with half-close, exact ends and bounded memory: see package relay. Where Dial fails the agent keeps the
// connection waiting, and answers for the process after a while.
//
// While the Tunnel is on hold, open connections go on, and new ones wait in the agents. It holds for all pods, those that come
// later or again included.
//
// # What is noticed
//
// A stream on which nothing was heard for nine seconds, although the agent is asked every five, is lost. That is
// logged as a warning, and Config.Observed is called; what was sent meanwhile prolongs the time as package portforward says.
//
// # The end
//
// When ctx ends, no new connections are taken: those that wait for the process go on waiting in the agents. Those that are
// open have Config.Drain to end before they are cut off.
// When Run returns, all that it started has ended.
//
// # Rights
//
// In the workload's namespace: get on deployments and replicasets (apps), list and watch on pods, get and create on
// pods/portforward.
package tunnel
