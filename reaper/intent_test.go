package reaper_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

type marks = map[string]string

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestReadIntent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		labels, annotations marks
		want                reaper.Intent
	}{
		"nothing": {},
		"all": {
			labels: marks{keys.Intent: "transient"},
			annotations: marks{keys.TTL: "36h", keys.ExpiresAt: "2026-03-04T05:06:07Z", keys.LastActive: "2026-03-01T09:00:00Z",
				keys.Grace: "10m", keys.Owner: "ann@example.org"},
			want: reaper.Intent{Kind: reaper.Transient, TTL: 36 * time.Hour, ExpiresAt: at("2026-03-04T05:06:07Z"),
				LastActive: at("2026-03-01T09:00:00Z"), Grace: 10 * time.Minute, Owner: "ann@example.org"},
		},
		"retained":                {labels: marks{keys.Intent: "retained"}, want: reaper.Intent{Kind: reaper.Retained}},
		"the intent is no note":   {annotations: marks{keys.Intent: "transient"}},
		"times are no labels":     {labels: marks{keys.Intent: "transient", keys.TTL: "1h"}, want: reaper.Intent{Kind: reaper.Transient}},
		"a TTL without an intent": {annotations: marks{keys.TTL: "1h"}, want: reaper.Intent{TTL: time.Hour}},
	} {
		got, err := reaper.ReadIntent(tc.labels, tc.annotations)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// All that is wrong is told at once, each with its key.
func TestReadIntentErrors(t *testing.T) {
	t.Parallel()
	_, err := reaper.ReadIntent(marks{keys.Intent: "Transient"},
		marks{keys.TTL: "3600", keys.Grace: "0s", keys.ExpiresAt: "2026-03-04", keys.LastActive: "EST", keys.OnExpiry: "archive"})
	if !errors.Is(err, reaper.ErrIntent) || !errors.Is(err, reaper.ErrDuration) || !errors.Is(err, reaper.ErrTime) {
		t.Fatalf("error %v", err)
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		t.Fatalf("%T joins nothing", err)
	}
	var wrong []string
	for _, err := range joined.Unwrap() {
		var f *reaper.FieldError
		if !errors.As(err, &f) || !strings.HasPrefix(err.Error(), f.Key+": ") {
			t.Fatalf("%v is no FieldError that names its key", err)
		}
		wrong = append(wrong, f.Key)
	}
	if diff := cmp.Diff([]string{keys.Intent, keys.OnExpiry, keys.TTL, keys.Grace, keys.ExpiresAt, keys.LastActive}, wrong); diff != "" {
		t.Error(diff)
	}
}

func TestReadIntentRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ labels, annotations marks }{
		"an empty intent":     {labels: marks{keys.Intent: ""}},
		"an unknown intent":   {labels: marks{keys.Intent: "ephemeral"}},
		"an empty TTL":        {annotations: marks{keys.TTL: ""}},
		"an empty expiry":     {annotations: marks{keys.ExpiresAt: ""}},
		"an empty activity":   {annotations: marks{keys.LastActive: ""}},
		"no grace":            {annotations: marks{keys.Grace: "0"}},
		"an end of its own":   {annotations: marks{keys.OnExpiry: ""}},
		"a value that is big": {annotations: marks{keys.TTL: strings.Repeat("\x1b[2J", 1<<16)}},
	} {
		_, err := reaper.ReadIntent(tc.labels, tc.annotations)
		if !errors.Is(err, reaper.ErrIntent) {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		if len(err.Error()) > 500 || strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("%s: the error is %q", name, err)
		}
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	created := at("2026-03-01T00:00:00Z")
	for name, tc := range map[string]struct {
		intent reaper.Intent
		want   string // "" is never
	}{
		"never":                     {reaper.Intent{Grace: time.Hour, LastActive: created}, ""},
		"from the creation":         {reaper.Intent{TTL: time.Hour}, "2026-03-01T01:00:00Z"},
		"from the activity":         {reaper.Intent{TTL: time.Hour, LastActive: at("2026-03-01T00:30:00Z")}, "2026-03-01T01:30:00Z"},
		"activity before it was":    {reaper.Intent{TTL: time.Hour, LastActive: at("2020-01-01T00:00:00Z")}, "2026-03-01T01:00:00Z"},
		"expires first":             {reaper.Intent{TTL: time.Hour, ExpiresAt: at("2026-03-01T00:59:59Z")}, "2026-03-01T00:59:59Z"},
		"the TTL ends first":        {reaper.Intent{TTL: time.Hour, ExpiresAt: at("2026-03-01T01:00:01Z")}, "2026-03-01T01:00:00Z"},
		"activity does not move it": {reaper.Intent{ExpiresAt: at("2026-03-01T00:10:00Z"), LastActive: at("2026-03-02T00:00:00Z")}, "2026-03-01T00:10:00Z"},
		"with grace":                {reaper.Intent{TTL: time.Hour, Grace: time.Minute}, "2026-03-01T01:01:00Z"},
	} {
		got, ends := tc.intent.Deadline(created)
		if ends != (tc.want != "") || ends && !got.Equal(at(tc.want)) {
			t.Errorf("%s: %v %v, want %q", name, got, ends, tc.want)
		}
	}
}
