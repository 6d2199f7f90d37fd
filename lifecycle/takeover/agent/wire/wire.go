package wire

import (
	"fmt"
	"time"
)

// Version is the version of the protocol and of the session document.
const Version = 1

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

// Request is the name of what an end asks the other.
type Request byte

// The requests of the workstation, but for the last one, which is the agent's.
const (
	RequestHello Request = 1 + iota
	RequestServe
	RequestHold
	RequestKeepalive
	RequestDraining
)

// String returns the name.
func (r Request) String() string {
	names := [...]string{RequestHello: "hello", RequestServe: "serve", RequestHold: "hold", RequestKeepalive: "keepalive", RequestDraining: "draining"}
	if int(r) < len(names) && r > 0 {
		return names[r]
	}
	return fmt.Sprintf("request %d", byte(r))
}

// Reason is why a connection is not taken.
type Reason byte

const (
	// ReasonProcess says that the local process does not take it.
	ReasonProcess Reason = 1 + iota
	// ReasonEnding says nothing of the process: the workstation is about to end.
	ReasonEnding
)

// String says it in words.
func (r Reason) String() string {
	switch r {
	case ReasonProcess:
		return "the local process does not"
	case ReasonEnding:
		return "it ends"
	}
	return fmt.Sprintf("reason %d", byte(r))
}

// KeepaliveInterval is how often the workstation gives a sign of life.
const KeepaliveInterval = 5 * time.Second

// Connection is the payload of a KindOpen.
type Connection struct {
	Port uint16 // of the container, one of the session's
	Peer string // the other end of the connection, "10.244.0.7:41234"
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
