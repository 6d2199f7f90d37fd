package wire

import "time"

// Version is the version of the protocol and of the session document.
const Version = 1

// User is the name that the workstation authenticates as.
const User = "pharos"

// Where things are in the agent's image: in the root folder, over which no volume is
// mounted.
const (
	SessionPath = "/pharos-session.json"
	BinaryPath  = "/pharos-agent"
)

// The subcommands of the agent, which replace what a manifest has run in the
// container: command and args, exec probes, exec lifecycle hooks. All but Run end
// at once, and succeed while an agent runs beside them.
const (
	CommandRun   = "run"
	CommandProbe = "probe"
	CommandHook  = "hook"
)

// ChannelConnection is the type of the channels that the agent opens.
const ChannelConnection = "pharos-connection@pharos.dev"

// The global requests of the workstation.
const (
	RequestHello     = "hello@pharos.dev"
	RequestServe     = "serve@pharos.dev"
	RequestHold      = "hold@pharos.dev"
	RequestKeepalive = "keepalive@pharos.dev"
)

// RequestDraining is the global request of the agent.
const RequestDraining = "draining@pharos.dev"

// The requests on a connection's channel, of either side.
const (
	RequestConsumed = "consumed@pharos.dev"
	RequestReport   = "report@pharos.dev"
	RequestEnd      = "end@pharos.dev"
)

// KeepaliveInterval is how often the workstation gives a sign of life.
const KeepaliveInterval = 5 * time.Second

// Connection is the payload of a channel that is opened.
type Connection struct {
	Port uint32 // of the container, one of the session's
	Peer string // the other end of the connection, "10.244.0.7:41234"
}

// Consumed is the payload of RequestConsumed.
type Consumed struct {
	Bytes uint32 // since the one before
}

// Hello is the payload of RequestHello.
type Hello struct {
	Version int    `json:"version"`
	Session string `json:"session"` // Session.ID
}

// Welcome is the reply to a Hello.
type Welcome struct {
	Version int       `json:"version"`
	Pod     string    `json:"pod"`     // its host name
	Started time.Time `json:"started"` // when this agent started, UTC
}
