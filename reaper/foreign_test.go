package reaper_test

import (
	"testing"
	"time"

	"github.com/pharos-dev/pharos/reaper"
)

// The values are of each tool's own grammar. What it takes and Pharos does not is
// refused: nothing ends by it.
func TestForeign(t *testing.T) {
	t.Parallel()
	const (
		twin, refreshed = "k8s-ttl-controller.twin.sh/ttl", "k8s-ttl-controller.twin.sh/refreshed-at"
		kyverno         = "cleanup.kyverno.io/ttl"
		okteto          = "dev.okteto.com/last-updated"
		loft            = "sleepmode.loft.sh/last-activity"
	)
	bare := func(change ...func(*reaper.Object)) reaper.Object {
		return expired(append([]func(*reaper.Object){unmarked}, change...)...)
	}
	for name, tc := range map[string]struct {
		foreign  reaper.Foreign
		object   reaper.Object
		reason   reaper.Reason
		deadline string
	}{
		"janitor":                 {reaper.Janitor, bare(annotate("janitor/ttl", "24h")), reaper.NotDue, "2026-03-02T00:00:00Z"},
		"janitor, a week":         {reaper.Janitor, bare(annotate("janitor/ttl", "1w")), reaper.NotDue, "2026-03-08T00:00:00Z"},
		"janitor, forever":        {reaper.Janitor, bare(annotate("janitor/ttl", "Forever")), reaper.IsRetained, ""},
		"janitor, unreadable":     {reaper.Janitor, bare(annotate("janitor/ttl", "7 days")), reaper.BadIntent, ""},
		"janitor, negative":       {reaper.Janitor, bare(annotate("janitor/ttl", "-7d")), reaper.BadIntent, ""},
		"janitor, a day":          {reaper.Janitor, bare(annotate("janitor/expires", "2026-03-04")), reaper.NotDue, "2026-03-04T00:00:00Z"},
		"janitor, a minute":       {reaper.Janitor, bare(annotate("janitor/expires", "2026-03-04T05:06")), reaper.NotDue, "2026-03-04T05:06:00Z"},
		"janitor, a second":       {reaper.Janitor, bare(annotate("janitor/expires", "2026-03-04T05:06:07Z")), reaper.NotDue, "2026-03-04T05:06:07Z"},
		"janitor, another zone":   {reaper.Janitor, bare(annotate("janitor/expires", "2026-03-04T05:06:07+01:00")), reaper.BadIntent, ""},
		"janitor, no such day":    {reaper.Janitor, bare(annotate("janitor/expires", "2026-02-30")), reaper.BadIntent, ""},
		"janitor, short":          {reaper.Janitor, bare(annotate("janitor/expires", "2026-3-4")), reaper.BadIntent, ""},
		"janitor, both":           {reaper.Janitor, bare(annotate("janitor/ttl", "24h", "janitor/expires", "2026-03-01T05:06")), reaper.NotDue, "2026-03-01T05:06:00Z"},
		"janitor, one unreadable": {reaper.Janitor, bare(annotate("janitor/ttl", "24h", "janitor/expires", "soon")), reaper.BadIntent, ""},

		"ttl-controller":                 {reaper.TTLController, bare(annotate(twin, "3d")), reaper.NotDue, "2026-03-04T00:00:00Z"},
		"ttl-controller, refreshed":      {reaper.TTLController, bare(annotate(twin, "1h30m", refreshed, "2026-03-01T01:00:00+01:00")), reaper.NotDue, "2026-03-01T01:30:00Z"},
		"ttl-controller, Go's":           {reaper.TTLController, bare(annotate(twin, "1.5h")), reaper.NotDue, "2026-03-01T01:30:00Z"},
		"ttl-controller, negative":       {reaper.TTLController, bare(annotate(twin, "-1h")), reaper.BadIntent, ""},
		"ttl-controller, zero":           {reaper.TTLController, bare(annotate(twin, "0s")), reaper.BadIntent, ""},
		"ttl-controller, too long":       {reaper.TTLController, bare(annotate(twin, "2000000h")), reaper.BadIntent, ""},
		"ttl-controller, a bad time":     {reaper.TTLController, bare(annotate(twin, "1h", refreshed, "now")), reaper.BadIntent, ""},
		"ttl-controller, refreshed only": {reaper.TTLController, bare(annotate(refreshed, "now")), reaper.NoIntent, ""},

		"kyverno":                 {reaper.Kyverno, bare(label(kyverno, "2d")), reaper.NotDue, "2026-03-03T00:00:00Z"},
		"kyverno, a time":         {reaper.Kyverno, bare(label(kyverno, "2026-03-04T003000Z")), reaper.NotDue, "2026-03-04T00:30:00Z"},
		"kyverno, a day":          {reaper.Kyverno, bare(label(kyverno, "2026-03-04")), reaper.NotDue, "2026-03-04T00:00:00Z"},
		"kyverno, ms":             {reaper.Kyverno, bare(label(kyverno, "7200000ms")), reaper.NotDue, "2026-03-01T02:00:00Z"},
		"kyverno, no such time":   {reaper.Kyverno, bare(label(kyverno, "2026-03-04T250000Z")), reaper.BadIntent, ""},
		"kyverno, minus":          {reaper.Kyverno, bare(label(kyverno, "1-7d")), reaper.BadIntent, ""},
		"kyverno, an annotation":  {reaper.Kyverno, bare(annotate(kyverno, "1h")), reaper.NoIntent, ""},
		"kyverno, of another age": {reaper.Kyverno, bare(label(kyverno, "1970-01-01")), reaper.BadIntent, ""},

		"okteto":                {reaper.Okteto, expired(annotate(okteto, "2026-03-01T00:30:00")), reaper.NotDue, "2026-03-01T01:30:00Z"},
		"okteto, a zone":        {reaper.Okteto, expired(annotate(okteto, "2026-03-01T00:30:00Z")), reaper.BadIntent, ""},
		"okteto says no intent": {reaper.Okteto, bare(annotate(okteto, "2026-03-01T00:30:00")), reaper.NoIntent, ""},

		"loft":                 {reaper.Loft, expired(annotate(loft, "1772325000")), reaper.NotDue, "2026-03-01T01:30:00Z"},
		"loft, milliseconds":   {reaper.Loft, expired(annotate(loft, "1772325000000")), reaper.BadIntent, ""},
		"loft, zero":           {reaper.Loft, expired(annotate(loft, "0")), reaper.BadIntent, ""},
		"loft, overflow":       {reaper.Loft, expired(annotate(loft, "9223372036854775807")), reaper.BadIntent, ""},
		"loft, more than that": {reaper.Loft, expired(annotate(loft, "9223372036854775808")), reaper.BadIntent, ""},

		"another tool": {"nobody", expired(), reaper.BadIntent, ""},
	} {
		now := at("2026-03-01T00:59:59Z")
		got := reaper.Rules{Foreign: []reaper.Foreign{tc.foreign}}.Decide(tc.object, now)
		if got.Reason != tc.reason || tc.deadline != "" && !got.Deadline.Equal(at(tc.deadline)) {
			t.Errorf("%s: %+v, want %s %s", name, got, tc.reason, tc.deadline)
		}
	}
}

func TestForeignTogether(t *testing.T) {
	t.Parallel()
	rules := reaper.Rules{Foreign: reaper.Foreigners}
	for name, tc := range map[string]struct {
		object reaper.Object
		want   reaper.Reason
		ends   time.Time
	}{
		"what it says of itself, it means": {expired(annotate("janitor/expires", "2026-03-01")), reaper.Due, due},
		"the earliest of several":          {expired(unmarked, annotate("janitor/ttl", "2h"), label("cleanup.kyverno.io/ttl", "1h")), reaper.Due, due},
		"retained is retained":             {expired(retained, annotate("janitor/ttl", "1s")), reaper.IsRetained, time.Time{}},
		"one says forever":                 {expired(unmarked, annotate("janitor/ttl", "forever"), label("cleanup.kyverno.io/ttl", "1s")), reaper.IsRetained, time.Time{}},
		"one is unreadable":                {expired(annotate("sleepmode.loft.sh/last-activity", "x")), reaper.BadIntent, time.Time{}},
		"activity of another counts":       {expired(annotate("sleepmode.loft.sh/last-activity", "1772325000")), reaper.NotDue, at("2026-03-01T01:30:00Z")},
		"kept is kept":                     {expired(unmarked, kept, annotate("janitor/ttl", "1s")), reaper.KeptBy, time.Time{}},
	} {
		if got := rules.Decide(tc.object, due); got.Reason != tc.want || !got.Deadline.Equal(tc.ends) {
			t.Errorf("%s: %+v, want %s %s", name, got, tc.want, tc.ends)
		}
	}
}
