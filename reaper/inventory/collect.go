package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/internal/parked"
	"github.com/pharos-dev/pharos/reaper"
)

// collection is what was read, by bucket. Of most objects only numbers are kept.
type collection struct {
	found  map[Ref]bool // declared objects
	groups map[string]*group
	others map[string]int
	tools  map[string]int
	// durables are those that were named, sets the StatefulSets of all buckets, and
	// owned the storage that claims have, by the UID of their owner.
	durables  []*artefact
	sets      []set
	owned     map[string]*resource.Quantity
	snapshots map[string]bool // UIDs
	orphans   []Orphan
	findings  []Finding
}

func newCollection() collection {
	return collection{found: map[Ref]bool{}, groups: map[string]*group{}, others: map[string]int{}, tools: map[string]int{},
		owned: map[string]*resource.Quantity{}, snapshots: map[string]bool{}}
}

// artefact is a Durable and what is needed to conclude about it.
type artefact struct {
	Durable
	uid   string
	claim bool
}

// collect takes in one object.
func (c *collection) collect(l *look, r kubeclient.Resource, s seen, where bucket, d reaper.Decision) {
	c.remember(s)
	c.parked(r, s)
	switch ref := refOf(s.Object); where {
	case declared:
		c.found[ref] = true
		if d.Verdict == reaper.Refuse || d.Verdict == reaper.Wait || d.Verdict == reaper.Delete {
			c.finding(Contradictory, ref, r, "it is declared, and says that it is transient: remove that, or no longer declare it ("+d.Message+")")
		}
		c.stuck(l, r, s)
	case orphaned:
		if s.Deleted.IsZero() {
			i := activityOf(s.Object)
			c.orphans = append(c.orphans, Orphan{Object: ref, Created: s.Created.UTC(), Owner: i.Owner, Retained: i.Kind == reaper.Retained})
		}
	case elsewhere:
		tool, _ := reaper.DeclarerOf(s.Object)
		c.tools[tool]++
	case transient, covered:
		c.group(r).add(l, c, r, s, where == covered, d)
		c.stuck(l, r, s)
	case durable:
		c.durable(l, r, s, d)
	case other:
		if (r.Namespaced || r.Kind == "Namespace" && l.request.AllNamespaces) && !derived[r.Kind] {
			c.others[r.String()]++
		}
	}
}

// remember keeps what other objects are judged by, whichever bucket this one is in.
func (c *collection) remember(s seen) {
	switch {
	case s.set != nil:
		c.sets = append(c.sets, setOf(s))
	case s.claim != nil && s.Owned:
		for _, uid := range s.owners {
			if c.owned[uid] == nil {
				c.owned[uid] = &resource.Quantity{}
			}
			c.owned[uid].Add(claimSize(s.claim))
		}
	case s.Group == "snapshot.storage.k8s.io" && s.Kind == "VolumeSnapshot":
		c.snapshots[s.UID] = true
	}
}

func (c *collection) group(r kubeclient.Resource) *group {
	g := c.groups[r.String()]
	if g == nil {
		g = &group{Group: Group{Resource: r.String()}}
		c.groups[r.String()] = g
	}
	return g
}

func (c *collection) finding(p Problem, of Ref, r kubeclient.Resource, message string) {
	c.findings = append(c.findings, Finding{Problem: p, Object: &of, Resource: r.String(), Message: message})
}

// parked finds a workload that is not restarted any more, in whichever bucket it is.
func (c *collection) parked(r kubeclient.Resource, s seen) {
	if p, is := parked.Of(s.Group, s.Kind, s.Annotations); is && s.Deleted.IsZero() {
		c.finding(Parked, refOf(s.Object), r, fmt.Sprintf("%s. Once it is mended: %s", p, parked.Unpark(r.String(), s.Namespace, s.Name)))
	}
}

// stuck finds what is being deleted for too long: something still holds it by a
// finalizer.
func (c *collection) stuck(l *look, r kubeclient.Resource, s seen) {
	if s.Deleted.IsZero() {
		return
	}
	if since := l.report.Time.Sub(s.Deleted); since > l.inventory.config.StuckAfter {
		c.finding(Stuck, refOf(s.Object), r, "it is being deleted for "+reaper.FormatDuration(since)+": whatever set its finalizers has not removed them")
	}
}

// conclude puts the report together.
func (l *look) conclude() {
	rep := &l.report
	rep.Transient, rep.Durable = []Group{}, []Durable{}
	l.concludeDurable()
	for _, g := range l.groups {
		rep.Transient = append(rep.Transient, g.conclude())
	}
	slices.SortFunc(rep.Transient, func(a, b Group) int { return strings.Compare(a.Resource, b.Resource) })
	l.concludeTrends()
	rep.Others, rep.Elsewhere = l.others, l.tools
	rep.Declared.Orphans = l.orphans
	slices.SortFunc(rep.Declared.Orphans, func(a, b Orphan) int { return a.Object.compare(b.Object) })
	for _, o := range rep.Declared.Orphans {
		if o.Owner == "" && !o.Retained {
			l.find(Orphaned, &o.Object, l.resourceOf(o.Object), "an earlier receipt delivered it, and the applied one does not have it: delete it, or say whose it is or that it is retained")
		}
	}
	rep.Findings = append(rep.Findings, l.collection.findings...)
	slices.SortStableFunc(rep.Findings, compareFindings)
	if rep.Findings == nil {
		rep.Findings = []Finding{}
	}
	if rep.Coverage == nil {
		rep.Coverage = []Gap{}
	}
	slices.SortStableFunc(rep.Coverage, func(a, b Gap) int {
		return strings.Compare(a.Resource+"\x00"+a.Namespace+"\x00"+a.Name, b.Resource+"\x00"+b.Namespace+"\x00"+b.Name)
	})
}

func compareFindings(a, b Finding) int {
	if by := slices.Index(problems, a.Problem) - slices.Index(problems, b.Problem); by != 0 {
		return by
	}
	if a.Object == nil || b.Object == nil {
		return strings.Compare(a.Resource, b.Resource)
	}
	return a.Object.compare(*b.Object)
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
