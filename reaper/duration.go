package reaper

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MaxDuration is the longest duration that can be said, 3650 days. What is to stay
// longer is retained.
const MaxDuration = 3650 * 24 * time.Hour

// DurationPattern is the regular expression (RE2) of a duration's form: each unit at
// most once, the larger one first, each number without a sign and leading zeros. A
// duration is also no longer than MaxDuration.
const DurationPattern = `^([1-9][0-9]{0,8}w)?([1-9][0-9]{0,8}d)?([1-9][0-9]{0,8}h)?([1-9][0-9]{0,8}m)?([1-9][0-9]{0,8}s)?$`

// ErrDuration is what is wrong with a duration that cannot be read.
var ErrDuration = errors.New("not a duration")

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
// most once. It refuses everything else with an error that is ErrDuration and says
// why: numbers without a unit, with a sign, a fraction or leading zeros, zero, units
// of a second's parts, and more than MaxDuration.
func ParseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, fmt.Errorf("%w: it is empty, want one such as 90s, 36h or 7d", ErrDuration)
	}
	var sum time.Duration
	rest, next := s, 0
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		number, after := rest[:digits], rest[digits:]
		unit := unitOf(after)
		switch {
		case digits == 0:
			return 0, fmt.Errorf("%w: %s: a number of w, d, h, m or s is expected at %s", ErrDuration, quote(s), quote(rest))
		case after == "":
			return 0, fmt.Errorf("%w: %s: %s has no unit, want w, d, h, m or s", ErrDuration, quote(s), quote(number))
		case number[0] == '0':
			return 0, fmt.Errorf("%w: %s: %s begins with a zero: leave out what is zero", ErrDuration, quote(s), quote(number))
		case unit < 0:
			return 0, fmt.Errorf("%w: %s: no unit at %s, want w, d, h, m or s", ErrDuration, quote(s), quote(after))
		case unit < next:
			return 0, fmt.Errorf("%w: %s: %s stands after a smaller unit or the same, want w, d, h, m, s in this order", ErrDuration, quote(s), quote(units[unit].letter))
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || digits > 9 || n > int64((MaxDuration-sum)/units[unit].is) {
			return 0, fmt.Errorf("%w: %s is more than 3650d, the longest: what is to stay longer is retained", ErrDuration, quote(s))
		}
		sum += time.Duration(n) * units[unit].is
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
		if n := d / u.is; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.letter)
			d -= n * u.is
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

var unprintable = regexp.MustCompile(`[^[:print:]]`)

// quote shows a value that somebody wrote on an object.
func quote(s string) string {
	if len(s) > longest {
		return strconv.Quote(unprintable.ReplaceAllString(s[:longest], "?")) + "…"
	}
	return strconv.Quote(s)
}
