package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// group is a Group that is being counted.
type group struct {
	Group
	ages []int64 // seconds
}

// add counts one object. Nothing is compared with what is declared: what is to end
// has no state that it should be in, only a time.
func (g *group) add(l *look, c *collection, r kubeclient.Resource, s seen, covered bool, d reaper.Decision) {
	now, ref := l.report.Time, refOf(s.Object)
	g.Count++
	age := now.Sub(s.Created)
	g.ages = append(g.ages, int64(age/time.Second))
	if age <= time.Hour {
		g.CreatedLastHour++
	}
	if g.OldestCreated.IsZero() || s.Created.Before(g.OldestCreated) {
		g.Oldest, g.OldestCreated = ref, s.Created.UTC()
	}
	if !s.Deleted.IsZero() {
		g.Terminating++
		return
	}
	if covered {
		g.Covered++
		return
	}
	switch late := now.Sub(d.Deadline); {
	case d.Verdict == reaper.Refuse:
		g.Refused++
		c.finding(Refused, ref, r, d.Message)
	case d.Verdict == reaper.Delete && late > l.inventory.config.LateAfter:
		g.Overdue++
		c.finding(Overdue, ref, r, fmt.Sprintf("it is past its end for %s: nothing has ended it; kubectl pharos reap does, or says what keeps it", reaper.FormatDuration(late)))
	}
	tier, allows := l.tierOf(s.Object)
	if idle := now.Sub(activityOf(s.Object).LastActive); allows > 0 && idle > allows {
		g.OlderThanTier++
		c.finding(OlderThanTier, ref, r, fmt.Sprintf("it is there for %s after its last activity, and %s allows %s", reaper.FormatDuration(idle), tier, reaper.FormatDuration(allows)))
	}
}

// tierOf names the tier of an object, and says how long it may be there; zero is for
// as long as it says.
func (l *look) tierOf(o reaper.Object) (string, time.Duration) {
	name := cmp.Or(o.Labels[keys.Tier], l.tiers[o.Namespace])
	for _, t := range l.inventory.config.Tiers {
		if t.Name == name {
			return "the tier " + t.Name, t.MaxTTL
		}
	}
	return "what is of no tier", l.inventory.config.MaxTTL
}

func (g *group) conclude() Group {
	slices.Sort(g.ages)
	g.MedianAge = g.ages[len(g.ages)/2]
	return g.Group
}
