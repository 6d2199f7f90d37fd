package reaper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxDuration is the longest duration that can be said, 3650 days. What is to stay
// longer is retained.
const MaxDuration = 3650 * 24 * time.Hour

// DurationPattern is the regular expression (RE2) of a duration's form: at least one
// unit, each at most once, the larger one first, each number without a sign and leading
// zeros. A duration is also no longer than MaxDuration.
const DurationPattern = `^(` +
	n + `w(` + n + `d)?(` + n + `h)?(` + n + `m)?(` + n + `s)?|` +
	n + `d(` + n + `h)?(` + n + `m)?(` + n + `s)?|` +
	n + `h(` + n + `m)?(` + n + `s)?|` +
	n + `m(` + n + `s)?|` +
	n + `s)$`

// n is a number of DurationPattern.
const n = `[1-9][0-9]{0,8}`

// ErrDuration is what is wrong with a duration that cannot be read.
var ErrDuration = errors.New("not a duration")

// DurationError says of a text why it is no duration. It is ErrDuration.
type DurationError struct {
	Text string
	// Why has of the text only what is wrong, where that is not all of it: it can stand
	// behind something that has shown the text already.
	Why string
}

func (e *DurationError) Error() string {
	if e.Text == "" {
		return ErrDuration.Error() + ": " + e.Why
	}
	return ErrDuration.Error() + ": " + quote(e.Text) + ": " + e.Why
}

// Is reports that it is ErrDuration.
func (e *DurationError) Is(target error) bool { return target == ErrDuration }

// units are those of a duration, in their order.
var units = []struct {
	letter string
	is     time.Duration
}{
	{"w", 7 * 24 * time.Hour},
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
}

// ParseDuration reads a duration such as "90s", "15m", "36h", "7d", "2w" or "1d12h":
// whole weeks, days (of 24 hours), hours, minutes and seconds, in this order, each at
// most once. It refuses everything else with a *DurationError, which says
// why: numbers without a unit, with a sign, a fraction or leading zeros, zero, units
// of a second's parts, and more than MaxDuration.
func ParseDuration(s string) (time.Duration, error) {
	fail := func(format string, args ...any) (time.Duration, error) {
		return 0, &DurationError{Text: s, Why: fmt.Sprintf(format, args...)}
	}
	if s == "" {
		return fail("it is empty, want one such as 90s, 36h or 7d")
	}
	var sum time.Duration
	rest, next := s, 0
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		number, after := rest[:digits], rest[digits:]
		unit := unitOf(after)
		is := quote(number) // what is wrong: "it" where that is all of the text
		if number == s {
			is = "it"
		}
		at := ""
		if rest != s {
			at = " at " + quote(rest)
		}
		switch {
		case digits == 0:
			return fail("a number of w, d, h, m or s is expected%s", at)
		case after == "":
			return fail("%s has no unit, want w, d, h, m or s", is)
		case number[0] == '0':
			return fail("%s begins with a zero: leave out what is zero", is)
		case unit < 0:
			return fail("%s has no unit, want w, d, h, m or s and then nothing or the next number, not %s", is, quote(after))
		case unit < next:
			return fail("%s stands after a smaller unit or the same, want w, d, h, m, s in this order", quote(units[unit].letter))
		}
		count, err := strconv.ParseInt(number, 10, 64)
		if err != nil || digits > 9 || count > int64((MaxDuration-sum)/units[unit].is) {
			return fail("it is more than 3650d, the longest: what is to stay longer is retained")
		}
		sum += time.Duration(count) * units[unit].is
		rest, next = after[1:], unit+1
	}
	return sum, nil
}

// FormatDuration writes a duration in the grammar of ParseDuration, the larger units
// first and never in weeks: 36 hours are "1d12h". Parts of a second are cut off. What
// is less than a second is written "0s", which is no duration.
func FormatDuration(d time.Duration) string {
	var b strings.Builder
	for _, u := range units[1:] {
		if count := d / u.is; count > 0 {
			b.WriteString(strconv.FormatInt(int64(count), 10) + u.letter)
			d -= count * u.is
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// unitOf is the index of the unit that s begins with, or -1. "ms" is none.
func unitOf(s string) int {
	for i, u := range units {
		if after, ok := strings.CutPrefix(s, u.letter); ok && (after == "" || after[0] >= '0' && after[0] <= '9') {
			return i
		}
	}
	return -1
}

// longest is how much of a value errors show.
const longest = 40

// quote shows a value that somebody wrote on an object.
func quote(s string) string {
	if len(s) > longest {
		return strconv.Quote(s[:longest]) + "…"
	}
	return strconv.Quote(s)
}
