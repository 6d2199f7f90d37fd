package reaper

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrDenied is matched by every *DeniedError.
var ErrDenied = errors.New("denied by the limits of a tier")

// Limit is a limit of a Tier.
type Limit string

// The limits of a Tier, with the units of Denial.
const (
	LimitTTL     Limit = "maxTTL"         // seconds
	LimitObjects Limit = "maxObjects"     // objects
	LimitCPU     Limit = "cpu"            // thousandths of a CPU
	LimitMemory  Limit = "memory"         // bytes
	LimitCreates Limit = "createsPerHour" // creates of the last hour
)

// Denial is one limit that leaves no room.
type Denial struct {
	Limit Limit `json:"limit"`
	// Max is the limit, Used what there is, Asked what was to be added.
	Max   int64 `json:"max"`
	Used  int64 `json:"used"`
	Asked int64 `json:"asked"`
	// Room is when there is room at the latest, if nothing is created or extended
	// meanwhile. Zero means never, as Asked alone is too much, or not known.
	Room time.Time `json:"room,omitzero"`
}

// DeniedError says that a tier leaves no room for an object, by each limit that does
// not. It is ErrDenied.
type DeniedError struct {
	Tier    string
	Denials []Denial
}

// Unwrap returns ErrDenied.
func (e *DeniedError) Unwrap() error { return ErrDenied }

func (e *DeniedError) Error() string {
	parts := make([]string, len(e.Denials))
	for i, d := range e.Denials {
		parts[i] = d.String()
	}
	return fmt.Sprintf("the tier %s has no room: %s", e.Tier, strings.Join(parts, "; "))
}

// Room is when there is room by every limit at the latest, or zero if that is not
// known or never.
func (e *DeniedError) Room() (room time.Time) {
	for _, d := range e.Denials {
		if d.Room.IsZero() {
			return time.Time{}
		}
		room = later(room, d.Room)
	}
	return room
}

// String is the denial for people.
func (d Denial) String() string {
	var text string
	switch d.Limit {
	case LimitTTL:
		length := func(seconds int64) string { return FormatDuration(time.Duration(seconds) * time.Second) }
		return fmt.Sprintf("%s is longer than %s", length(d.Asked), length(d.Max))
	case LimitObjects:
		text = fmt.Sprintf("%d of %d objects are there", d.Used, d.Max)
	case LimitCPU:
		text = fmt.Sprintf("%dm of %dm CPU are requested, and it asks for %dm", d.Used, d.Max, d.Asked)
	case LimitMemory:
		text = fmt.Sprintf("%d of %d bytes of memory are requested, and it asks for %d", d.Used, d.Max, d.Asked)
	case LimitCreates:
		text = fmt.Sprintf("%d of %d were created within the last hour", d.Used, d.Max)
	}
	switch {
	case !d.Room.IsZero():
		text += ", until " + FormatTime(d.Room)
	case d.Asked > d.Max:
		text += ", and that alone is too much"
	}
	return text
}
