package wire

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrSession is matched by the errors of a session document that is not valid.
var ErrSession = errors.New("not a valid session document")

// Session is what an agent knows of its session: the content of SessionPath. It
// holds no secret.
type Session struct {
	Version int    `json:"version"` // Version
	ID      string `json:"id"`      // letters, digits and dashes, at most 64
	// Key is the workstation's public key, as EncodeKey writes it.
	Key string `json:"key"`
	// Control is the loopback port of the stream, none of Ports: ControlPort
	// chooses one.
	Control uint16 `json:"control"`
	// Ports are what the agent listens on, on all addresses: at most 64, in
	// ascending order.
	Ports []Port `json:"ports"`

	// Workload, Holder and Since are for people, in the answer that callers get
	// while nobody serves: "Deployment shop/api", "ann@laptop", UTC in whole seconds.
	Workload string    `json:"workload"`
	Holder   string    `json:"holder"`
	Since    time.Time `json:"since"`

	// Away is how long a connection waits for a workstation that gives no sign of
	// life, or for a local process that is down: 15 s to 10 min.
	Away Duration `json:"away"`
	// Drain is how long an agent that was told to end goes on accepting, while the
	// cluster forgets its address: at most half of Grace.
	Drain Duration `json:"drain"`
	// Grace is the pod's terminationGracePeriodSeconds, at most 24 h. What is under
	// way may end until 2 s before it is over.
	Grace Duration `json:"grace"`
}

// Port is a port of the container.
type Port struct {
	Number uint16 `json:"number"`
	// Name is the containerPort's name, empty if it has none.
	Name string `json:"name,omitempty"`
	// Probes are the kinds of probes that the container declares on the port, of
	// ProbeHTTP, ProbeGRPC and ProbeTCP, in alphabetical order. The agent answers
	// them itself. An HTTPS probe is none of them: the local process answers it.
	Probes []string `json:"probes,omitempty"`
}

// The kinds of probes that an agent answers.
const (
	ProbeGRPC = "grpc"
	ProbeHTTP = "http"
	ProbeTCP  = "tcp"
)

// The defaults of a session.
const (
	DefaultControl = 47811
	DefaultAway    = Duration(20 * time.Second)
	DefaultDrain   = Duration(5 * time.Second)
)

// Duration is a duration that is written as Go writes it: "20s".
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// ControlPort returns the first port from DefaultControl on that is none of ports.
func ControlPort(ports []Port) uint16 {
	taken := make(map[uint16]bool, len(ports))
	for _, p := range ports {
		taken[p.Number] = true
	}
	control := uint16(DefaultControl)
	for taken[control] {
		control++
	}
	return control
}

// DrainFor returns the drain of a pod with this grace period: DefaultDrain, or half
// of the grace period if that is less.
func DrainFor(grace time.Duration) Duration {
	return min(DefaultDrain, Duration(grace/2))
}

// EncodeKey returns a session's key: its 32 bytes in base64.
func EncodeKey(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// PublicKey returns Key, and nil if it is none.
func (s Session) PublicKey() ed25519.PublicKey {
	key, err := base64.StdEncoding.Strict().DecodeString(s.Key)
	if err != nil || len(key) != ed25519.PublicKeySize || EncodeKey(key) != s.Key {
		return nil
	}
	return key
}

// Encode returns the document. The error matches ErrSession, and names all that is
// wrong with s.
func (s Session) Encode() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Ports == nil {
		s.Ports = []Port{}
	}
	doc, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSession, err)
	}
	return append(doc, '\n'), nil
}

// ParseSession reads a document. The error matches ErrSession for anything but what
// Encode returns, to the byte.
func ParseSession(doc []byte) (Session, error) {
	var s Session
	if err := json.Unmarshal(doc, &s); err != nil {
		return Session{}, fmt.Errorf("%w: %w", ErrSession, err)
	}
	again, err := s.Encode()
	if err != nil {
		return Session{}, err
	}
	if !bytes.Equal(doc, again) {
		return Session{}, fmt.Errorf("%w: it is not spelled as Pharos writes it", ErrSession)
	}
	return s, nil
}
