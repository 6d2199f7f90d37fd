package inventory

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// series are readings half an hour apart.
func series(counts ...float64) []reading {
	var r []reading
	for n, c := range counts {
		r = append(r, reading{noon.Add(time.Duration(n) * 30 * time.Minute), c})
	}
	return r
}

func TestTrend(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		readings []reading
		none     bool
		perHour  float64
		climbing bool
	}{
		"one reading":             {readings: series(100), none: true},
		"seven readings":          {readings: series(1, 2, 3, 4, 5, 6, 7), none: true},
		"too close to each other": {readings: append(series(1), reading{noon.Add(time.Minute), 2}, reading{noon.Add(2 * time.Minute), 3}, reading{noon.Add(3 * time.Minute), 4}, reading{noon.Add(4 * time.Minute), 5}, reading{noon.Add(5 * time.Minute), 6}, reading{noon.Add(6 * time.Minute), 7}, reading{noon.Add(7 * time.Minute), 8}), none: true},
		"ever more":               {readings: series(10, 12, 13, 16, 18, 20, 21, 24), perHour: 4, climbing: true},
		"the same":                {readings: series(10, 10, 10, 10, 10, 10, 10, 10)},
		"one reading out of line": {readings: series(10, 10, 10, 10, 10, 10, 10, 500)},
		"one of them missing all": {readings: series(10, 12, 14, 16, 0, 20, 22, 24, 26, 28), perHour: 4, climbing: true},
		"up and down":             {readings: series(10, 20, 10, 20, 10, 20, 10, 20)},
		"fewer":                   {readings: series(24, 21, 20, 18, 16, 13, 12, 10), perHour: -4},
		"hardly more":             {readings: series(100, 100, 101, 101, 101, 102, 102, 102), perHour: 0.67},
		"two more":                {readings: series(1, 1, 2, 2, 2, 3, 3, 3), perHour: 0.67},
		"many at the same moment": {readings: []reading{{noon, 1}, {noon, 2}, {noon, 3}, {noon, 4}, {noon, 5}, {noon, 6}, {noon, 7}, {noon, 8}}, none: true},
	} {
		got := trendOf(tt.readings)
		switch {
		case (got == nil) != tt.none:
			t.Errorf("%s: %+v", name, got)
		case got != nil && (got.PerHour != tt.perHour || got.Climbing != tt.climbing || got.Readings != len(tt.readings)):
			t.Errorf("%s: %+v, want %v an hour and climbing %t", name, *got, tt.perHour, tt.climbing)
		}
	}
}

func TestSamplesAreBounded(t *testing.T) {
	t.Parallel()
	var all []Sample
	for n := range MaxSamples + 50 {
		all = append(all, Sample{Time: noon.Add(time.Duration(n) * time.Hour), Scope: "all", Counts: map[string]int{"pods": n}})
	}
	data, err := encodeSamples(all)
	if err != nil {
		t.Fatal(err)
	}
	var kept []Sample
	if err := json.Unmarshal(data, &kept); err != nil || len(kept) != MaxSamples || kept[MaxSamples-1].Counts["pods"] != MaxSamples+49 {
		t.Errorf("%d are kept (%v)", len(kept), err)
	}
	for n := range all {
		all[n].Scope = strings.Repeat("x", 10_000)
	}
	data, err = encodeSamples(all)
	if err != nil {
		t.Fatal(err)
	}
	kept = nil
	if err := json.Unmarshal(data, &kept); err != nil || len(data) > maxSamplesSize || len(kept) == 0 || kept[len(kept)-1].Counts["pods"] != MaxSamples+49 {
		t.Errorf("%d large ones take %d bytes (%v)", len(kept), len(data), err)
	}
}
