package reaper

import (
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// ErrTime is what is wrong with a time that cannot be read.
var ErrTime = errors.New("not a time")

// TimePattern is the regular expression (RE2) of a time's form. A time is also one that
// there is, of the years 2000 to 9899.
const TimePattern = `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`

var timeForm = lazyregexp.New(TimePattern)

// ParseTime reads a time in the form of RFC 3339, such as "2026-03-04T05:06:07Z" or
// "2026-03-04T06:06:07+01:00": with its zone, since names of zones and their absence
// mean different times to different readers. It refuses years before 2000, which
// programs write that have lost a time, and after 9899, which no sum of a time and
// durations can be written for. What it returns is in UTC. The error is ErrTime.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !timeForm.MatchString(s) { // Parse is lenient in details
		return time.Time{}, fmt.Errorf("%w: %s, want one such as 2026-03-04T05:06:07Z (RFC 3339 with a zone)", ErrTime, quote(s))
	}
	return within(t, s)
}

// within refuses a time, written as s, of a year that nobody means.
func within(t time.Time, s string) (time.Time, error) {
	if year := t.UTC().Year(); year < 2000 || year > 9899 {
		return time.Time{}, fmt.Errorf("%w: %s is of the year %d, want one from 2000 to 9899", ErrTime, quote(s), year)
	}
	return t.UTC(), nil
}

// FormatTime writes a time in the form of ParseTime, in UTC and to the second.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
