package supervise

import (
	"strings"
	"time"
)

// State is what is known of something that is supervised. The zero value is that
// of something healthy that was not restarted. States can be compared with ==.
type State struct {
	// Revision is the delivery whose budget it is; empty if that is not known.
	Revision string `json:"revision,omitzero"`
	// Failures is how many checks in a row have failed, up to Policy.Failures.
	Failures int `json:"failures,omitzero"`
	// Restarts is how much of the budget is used up.
	Restarts int `json:"restarts,omitzero"`
	// RestartedAt is the time of the last restart.
	RestartedAt time.Time `json:"restartedAt,omitzero"`
	// HealthySince is since when every check has succeeded, of something that was
	// restarted. It is zero if the last one failed.
	HealthySince time.Time `json:"healthySince,omitzero"`
	// Parked says that it is restarted no more, and why.
	Parked Parked `json:"parked,omitzero"`
}

// Parked is why and since when something is restarted no more.
type Parked struct {
	// Reason is for people. It is empty if nothing is parked.
	Reason string `json:"reason"`
	// Since is zero if it was parked by hand.
	Since time.Time `json:"since,omitzero"`
}

// IsParked says whether it is restarted no more.
func (s State) IsParked() bool { return s.Parked.Reason != "" }

// Observation is what a check has seen.
type Observation struct {
	// Revision names what was delivered: another one is a new delivery, for which
	// the budget is full. Empty is not known, and never a new one.
	Revision string
	// Failure says what is wrong, for people and without secrets: it is kept as the
	// reason of what is parked. Empty is nothing.
	Failure string
}

// longest is how many bytes of a failure are kept.
const longest = 1024

// brief makes a line of a failure.
func brief(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}
