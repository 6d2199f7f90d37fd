package reaper_test

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/internal/durations"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for _, c := range durations.Cases {
		got, err := reaper.ParseDuration(c.Text)
		switch {
		case c.Why == "" && (err != nil || got != c.Is):
			t.Errorf("%q: got %v and %v, want %v", c.Text, got, err, c.Is)
		case c.Why != "" && (!errors.Is(err, reaper.ErrDuration) || !strings.Contains(err.Error(), c.Why)):
			t.Errorf("%q: error %v, want ErrDuration with %q", c.Text, err, c.Why)
		case c.Text != "" && err != nil && strings.Count(err.Error(), strconv.Quote(c.Text)) > 1:
			t.Errorf("%q: its error says it again and again: %v", c.Text, err)
		case c.Why != "" && got != 0:
			t.Errorf("%q: %v beside an error", c.Text, got)
		}
	}
}

// Every value that has the form, and is no longer than the longest, is a duration.
func TestDurationPattern(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(reaper.DurationPattern)
	for _, c := range durations.Cases {
		long := strings.Contains(c.Why, "3650d")
		if got := form.MatchString(c.Text); got != (c.Why == "") && !long {
			t.Errorf("%q: matches %v, and its error is %q", c.Text, got, c.Why)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		90 * time.Second:                 "1m30s",
		36 * time.Hour:                   "1d12h",
		14 * 24 * time.Hour:              "14d",
		time.Hour + time.Millisecond:     "1h",
		999 * time.Millisecond:           "0s",
		0:                                "0s",
		-time.Hour:                       "0s",
		reaper.MaxDuration:               "3650d",
		reaper.MaxDuration - time.Second: "3649d23h59m59s",
	} {
		if got := reaper.FormatDuration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, c := range durations.Cases {
		f.Add(c.Text)
	}
	form := regexp.MustCompile(reaper.DurationPattern)
	f.Fuzz(func(t *testing.T, s string) {
		d, err := reaper.ParseDuration(s)
		if err != nil {
			if !errors.Is(err, reaper.ErrDuration) || d != 0 {
				t.Fatalf("%q: %v and %v", s, d, err)
			}
			if form.MatchString(s) && !strings.Contains(err.Error(), "3650d") {
				t.Fatalf("%q has the form, and is refused: %v", s, err)
			}
			return
		}
		if !form.MatchString(s) || d < time.Second || d > reaper.MaxDuration || d%time.Second != 0 {
			t.Fatalf("%q is read as %v", s, d)
		}
		if again, err := reaper.ParseDuration(reaper.FormatDuration(d)); err != nil || again != d {
			t.Fatalf("%q is %v, written as %q and read again as %v, %v", s, d, reaper.FormatDuration(d), again, err)
		}
	})
}
