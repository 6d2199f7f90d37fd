package supervise_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// The format is written down here: what an earlier version stored has to be read.
func TestFormat(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]supervise.State{
		`{"version":1}`: {},
		`{"version":1,"revision":"7","failures":2,"restarts":5,"restartedAt":"2026-03-04T12:00:00.25Z","healthySince":"2026-03-04T12:01:00Z",` +
			`"parked":{"reason":"5 restarts did not help: <x>","since":"2026-03-04T12:02:00Z"}}`: {
			Revision: "7", Failures: 2, Restarts: 5, RestartedAt: noon.Add(250 * time.Millisecond), HealthySince: at(1),
			Parked: supervise.Parked{Reason: "5 restarts did not help: <x>", Since: at(2)}},
		`{"version":1,"parked":{"reason":"ada looks at it"}}`: {Parked: supervise.Parked{Reason: "ada looks at it"}},
	} {
		data, err := supervise.Encode(s)
		if err != nil || string(data) != want {
			t.Errorf("got %s, %v\nwant %s", data, err, want)
		}
		if got, err := supervise.Decode([]byte(want)); err != nil || got != s {
			t.Errorf("%s is read as %+v, %v", want, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for data, says := range map[string]string{
		"":                             "EOF",
		"\x00\x00\x00":                 "invalid character",
		`{}`:                           "version 0",
		`{"version":2}`:                "version 2",
		`{"version":1`:                 "EOF",
		`{"version":1}{}`:              "after top-level value",
		`{"version":1,"restarts":-1}`:  "less than zero",
		`{"version":1,"failures":-1}`:  "less than zero",
		`{"version":1,"restarts":1.5}`: "restarts",
		`{"version":1,"restarts":"1"}`: "restarts",
		`{"version":1,"Restarts":1}`:   "unknown",
		`{"version":1,"restarts":1,"restarts":0}`:                             "duplicate",
		`{"version":1,"parked":{"since":"2026-03-04T12:00:00Z","reason":""}}`: "without a reason",
		`{"version":1,"restartedAt":"yesterday"}`:                             "yesterday",
	} {
		got, err := supervise.Decode([]byte(data))
		if !errors.Is(err, supervise.ErrDamaged) || !strings.Contains(err.Error(), says) || got != (supervise.State{}) {
			t.Errorf("%q: got %+v, %v, want %q", data, got, err, says)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []supervise.State{{Restarts: -1}, {Parked: supervise.Parked{Since: noon}}, {RestartedAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		if data, err := supervise.Encode(s); err == nil {
			t.Errorf("%+v is stored as %s", s, data)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"revision":"7","restarts":2,"restartedAt":"2026-03-04T12:00:00+01:00","parked":{"reason":"x"}}`))
	f.Add([]byte(`{"version":1,"restartedAt":"0001-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := supervise.Decode(data)
		if err != nil {
			if !errors.Is(err, supervise.ErrDamaged) {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		stored, err := supervise.Encode(s)
		if err != nil {
			t.Fatalf("%q is read as %+v, which cannot be stored: %v", data, s, err)
		}
		if again, err := supervise.Decode(stored); err != nil || again != s {
			t.Errorf("%+v is stored as %s and read as %+v, %v", s, stored, again, err)
		}
	})
}
