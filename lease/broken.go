package lease

import (
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/pharos-dev/pharos/internal/keys"
)

// Broken says that somebody ended another's lease.
type Broken struct {
	// By is who did so, user@host, and Reason why. Both are one line of at most
	// 256 bytes, whatever was written into the Lease.
	By, Reason string
	// At is when, by the API server's clock.
	At time.Time
	// Holder is the ID of the holder that lost the lease, User is user@host, and
	// Token is the fencing token that it had.
	Holder, User string
	Token        int64
}

// brokenRecord is the JSON of the annotation.
type brokenRecord struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Holder string    `json:"holder"`
	User   string    `json:"user,omitempty"`
	Token  int64     `json:"token"`
}

// maxBroken bounds the annotation, in bytes. What Pharos writes is far below.
const maxBroken = 16 << 10

// encode returns the annotation.
func (b Broken) encode() (string, error) {
	data, err := json.Marshal(brokenRecord(b))
	return string(data), err
}

// parseBroken reads the annotation, nil if it says nothing that can be read. What
// it says is believed: whoever can write it can take the lease away as well.
func parseBroken(text string) *Broken {
	if text == "" || len(text) > maxBroken {
		return nil
	}
	var r brokenRecord
	if json.Unmarshal([]byte(text), &r) != nil {
		return nil
	}
	r.By, r.Reason, r.User, r.At = oneLine(r.By), oneLine(r.Reason), oneLine(r.User), readable(r.At)
	if r.By == "" || r.Reason == "" || r.Holder == "" || r.At.IsZero() {
		return nil
	}
	b := Broken(r)
	return &b
}

// String says it in one line: "ann@laptop broke it at 2026-03-04T05:06:07Z: hotfix".
func (b *Broken) String() string {
	return fmt.Sprintf("%s broke it at %s: %s", b.By, b.At.Format(time.RFC3339), b.Reason)
}

// over says that nobody has the lease any more, though others may still have to
// wait for the grace.
func (s State) over() bool { return !s.Held || s.WasBroken() }

// brokenFor says that it was holder whose lease was broken last.
func (s State) brokenFor(holder string) bool { return s.Broken != nil && s.Broken.Holder == holder }

// broken returns the Lease, whose state is s, as it ends now, and with an
// annotation that says why. The second is that which the Date cuts off.
func broken(l *coordinationv1.Lease, s State, annotation string) *coordinationv1.Lease {
	l = l.DeepCopy()
	if end := s.Now.Add(time.Second); s.Expires.IsZero() || s.Expires.After(end) {
		setEnd(l, s.Now, end)
	}
	setAnnotation(l, keys.LeaseBroken, annotation)
	return l
}
