package supervise

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// version is that of the format.
const version = 1

// document is a State in its format.
type document struct {
	Version int `json:"version"`
	State
}

// Encode writes a state as JSON, for stores:
//
//	{"version":1,"revision":"7","restarts":2,"restartedAt":"2026-03-04T05:06:07.089Z"}
//
// The same state gives the same bytes.
func Encode(s State) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("encode a state: %w", err)
	}
	return json.Marshal(document{Version: version, State: s}, json.Deterministic(true))
}

// Decode reads what Encode wrote, and nothing else: not what a later version wrote,
// whose rules it does not know. The error matches ErrDamaged.
func Decode(data []byte) (State, error) {
	var d document
	err := json.Unmarshal(data, &d, json.RejectUnknownMembers(true))
	switch {
	case err != nil:
	case d.Version != version:
		err = fmt.Errorf("it is of version %d of the format, want %d", d.Version, version)
	default:
		err = d.State.check()
	}
	if err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return d.stamped(), nil
}

// check reports what no state has.
func (s State) check() error {
	if s.Failures < 0 || s.Restarts < 0 {
		return errors.New("a count is less than zero")
	}
	if s.Parked.Reason == "" && s.Parked != (Parked{}) {
		return errors.New("it is parked without a reason")
	}
	for _, t := range []time.Time{s.RestartedAt, s.HealthySince, s.Parked.Since} {
		if y := t.Year(); y < 1 || y > 9999 {
			return fmt.Errorf("the year %d cannot be written", y)
		}
	}
	return nil
}
