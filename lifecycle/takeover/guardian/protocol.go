package guardian

import (
	_ "embed"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// Version is the version of the protocol.
const Version = 1

//go:embed protocol.schema.json
var schema []byte

// Schema is the JSON schema (draft 2020-12) of the protocol's lines: $defs/request for
// those to the guardian, and $defs/line for those from it.
func Schema() []byte { return append([]byte{}, schema...) }

// Op is what is asked of a guardian.
type Op string

// The operations.
const (
	OpStatus   Op = "status"
	OpLogs     Op = "logs"
	OpAttach   Op = "attach"
	OpHandBack Op = "handback"
	OpRestart  Op = "restart"
	// OpUnpark is OpRestart: what is restarted has its whole budget again.
	OpUnpark Op = "unpark"
	// OpStop ends the guardian and leaves the session as it is: it can be gone on with.
	OpStop Op = "stop"
)

// ops are all of them.
var ops = []Op{OpStatus, OpLogs, OpAttach, OpHandBack, OpRestart, OpUnpark, OpStop}

// Request is a line to the guardian.
type Request struct {
	Version int `json:"version"`
	Op      Op  `json:"op"`
	// ID is repeated in the answer; at most 64 bytes.
	ID string `json:"id,omitempty"`
	// Workloads are names of workloads; all without one.
	Workloads []string `json:"workloads,omitempty"`
	// Follow has logs go on until the session ends.
	Follow bool `json:"follow,omitempty"`
}

// LineType says what a line of the guardian is.
type LineType string

// The types of line.
const (
	LineStatus LineType = "status"
	LineLog    LineType = "log"
	LineEvent  LineType = "event"
	LineAnswer LineType = "answer"
)

// Line is a line of the guardian.
type Line struct {
	Version int             `json:"version"`
	Type    LineType        `json:"type"`
	ID      string          `json:"id,omitempty"`
	Status  *Status         `json:"status,omitempty"`
	Log     *LogLine        `json:"log,omitempty"`
	Event   *takeover.Event `json:"event,omitempty"`
	Error   string          `json:"error,omitempty"`
	// Class is the kind of an error: see takeover.ClassOf. A request that cannot be
	// read is of the class "usage".
	Class string `json:"class,omitempty"`
}

// Status is how a guardian and its session are.
type Status struct {
	takeover.Status
	// PID is the guardian's process, and Started since when it runs; neither is there
	// for a session that was interrupted.
	PID     int       `json:"pid,omitempty"`
	Started time.Time `json:"started,omitzero"`
}

// LogLine is a line that something has printed.
type LogLine struct {
	Time time.Time `json:"time"`
	// Source is the image whose process or build it was.
	Source string `json:"source"`
	Text   string `json:"text"`
}
