package reaper

import (
	"errors"
	"fmt"
	"time"
)

// ErrTime is what is wrong with a time that cannot be read.
var ErrTime = errors.New("not a time")

// ParseTime reads a time in the form of RFC 3339, such as "2026-03-04T05:06:07Z" or
// "2026-03-04T06:06:07+01:00": with its zone, since names of zones and their absence
// mean different times to different readers. The error is ErrTime.
func ParseTime(s string) (time.Time, error) {
	var t time.Time
	// Parse is lenient in details that this is not.
	if err := t.UnmarshalText([]byte(s)); err != nil || t.IsZero() {
		return time.Time{}, fmt.Errorf("%w: %s, want one such as 2026-03-04T05:06:07Z (RFC 3339 with a zone)", ErrTime, quote(s))
	}
	return t, nil
}

// FormatTime writes a time in the form of ParseTime, in UTC and to the second.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
