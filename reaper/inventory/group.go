package inventory

import (
	"fmt"
	"slices"
	"time"

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
		c.finding(Overdue, ref, r, fmt.Sprintf("it is past its end for %s: nothing has ended it; kubectl pharos reap does", reaper.FormatDuration(late)))
	}
	tier, of := Tier{}, false
	if l.inventory.config.Tier != nil {
		tier, of = l.inventory.config.Tier(s.Object)
	}
	if idle := now.Sub(activityOf(s.Object).LastActive); of && tier.MaxTTL > 0 && idle > tier.MaxTTL {
		g.OlderThanTier++
		c.finding(OlderThanTier, ref, r, fmt.Sprintf("it is there for %s after its last activity, and the tier %s allows %s", reaper.FormatDuration(idle), tier.Name, reaper.FormatDuration(tier.MaxTTL)))
	}
}

func (g *group) conclude() Group {
	slices.Sort(g.ages)
	g.MedianAge = g.ages[len(g.ages)/2]
	return g.Group
}
