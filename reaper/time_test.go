package reaper_test

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/reaper"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, s := range []string{"2026-03-04T05:06:07Z", "2026-03-04T06:06:07+01:00", "2026-03-03T23:36:07-05:30", "2026-03-04T05:06:07.000Z"} {
		if got, err := reaper.ParseTime(s); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v and %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "tomorrow", "2026-03-04", "2026-03-04T05:06Z", "2026-03-04 05:06:07Z",
		"2026-03-04T05:06:07", "2026-03-04T05:06:07EST", "2026-03-04T05:06:07 EST", "2026-03-04T05:06:07+0100",
		"2026-03-04T05:06:07z", "2026-03-04t05:06:07Z", " 2026-03-04T05:06:07Z", "2026-03-04T05:06:07Z\n",
		"2026-02-30T05:06:07Z", "2026-13-04T05:06:07Z", "2026-03-04T24:00:00Z", "2026-03-04T05:06:60Z", "2026-03-04T5:06:07Z",
		"2026-03-04T05:06:07,5Z", "2026-03-04T05:06:07+24:00", "1772600767", "20260304T050607Z",
		// Of programs that have lost a time, and what cannot be written as JSON.
		"0001-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "1970-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "9900-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
	} {
		if got, err := reaper.ParseTime(s); !errors.Is(err, reaper.ErrTime) || !got.IsZero() {
			t.Errorf("%q: %v and %v, want ErrTime", s, got, err)
		}
	}
}

// What is read as a time is what has the documented form and is in the calendar, taken
// apart here in another way than there; and it is written so that it is read again.
func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{
		"2026-03-04T05:06:07Z", "2026-03-04T06:06:07.089+01:00", "2024-02-29T23:59:59-00:00", "2023-02-29T00:00:00Z", "2000-01-01T00:00:00+23:59",
		"1999-12-31T23:59:59-00:01", "9899-12-31T23:59:59-23:59", "9900-01-01T00:00:00+00:01", "2026-03-04T05:06:07,5Z", "2026-03-04T05:06:07.0000000001Z", "2026-3-4T5:6:7Z", "",
	} {
		f.Add(seed)
	}
	form := regexp.MustCompile(reaper.TimePattern)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := reaper.ParseTime(s)
		want, is := time.Time{}, form.MatchString(s)
		if is {
			want, is = timeOf(s)
		}
		if is != (err == nil) || err != nil && (!errors.Is(err, reaper.ErrTime) || !got.IsZero()) {
			t.Fatalf("%q: %v and %v; it is a time: %t", s, got, err, is)
		}
		if err != nil {
			return
		}
		if !got.Equal(want) || got.Location() != time.UTC {
			t.Fatalf("%q is read as %v, want %v", s, got, want)
		}
		if again, err := reaper.ParseTime(reaper.FormatTime(got)); err != nil || !again.Equal(got.Truncate(time.Second)) {
			t.Fatalf("%q is written as %q and read again as %v, %v", s, reaper.FormatTime(got), again, err)
		}
	})
}

// timeOf is the time of a text that has the form, if the calendar has it.
func timeOf(s string) (time.Time, bool) {
	number := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	date, rest := s[:10], s[19:]
	zone := strings.TrimLeft(rest, ".0123456789")
	fraction := strings.TrimPrefix(strings.TrimSuffix(rest, zone), ".")
	offset := 0
	if zone != "Z" {
		offset = number(zone[1:3])*3600 + number(zone[4:6])*60
		if zone[0] == '-' {
			offset = -offset
		}
	}
	nanoseconds := number((fraction + "000000000")[:9])
	local := time.Date(number(date[:4]), time.Month(number(date[5:7])), number(date[8:10]), number(s[11:13]), number(s[14:16]), number(s[17:19]), nanoseconds, time.UTC)
	is := local.Add(-time.Duration(offset) * time.Second)
	return is, local.Format(time.DateOnly) == date && is.Year() >= 2000 && is.Year() <= 9899
}

func TestFormatTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 6, 6, 7, 999, time.FixedZone("x", 3600))
	if got, want := reaper.FormatTime(at), "2026-03-04T05:06:07Z"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
