package reaper_test

import (
	"errors"
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

func TestFormatTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 6, 6, 7, 999, time.FixedZone("x", 3600))
	if got, want := reaper.FormatTime(at), "2026-03-04T05:06:07Z"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
