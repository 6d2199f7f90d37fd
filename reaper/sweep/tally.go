package sweep

import (
	"fmt"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/reaper"
)

// tally keeps a report while a pass runs. It is safe for concurrent use.
type tally struct {
	each func(Item)
	max  int

	mu     sync.Mutex
	report Report
	// at is the resource that is looked at, found how many findings it has.
	at ResourceCounts
	// first is the index of its first finding; omitted how many of it are only counted.
	first, omitted int
	// ending are the namespaces that are being deleted, or would be.
	ending map[string]bool
}

func newTally(o PassOptions, dryRun bool) *tally {
	t := &tally{each: o.Each, max: o.MaxFindings, ending: map[string]bool{}}
	if t.each == nil {
		t.each = func(Item) {}
	}
	// Lists are never null in JSON.
	t.report = Report{DryRun: dryRun, Resources: []ResourceCounts{}, Findings: []Finding{}, Gaps: []Gap{}}
	return t
}

// begin begins with a resource, end ends it.
func (t *tally) begin(r Resource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.first, t.omitted = ResourceCounts{Resource: r.String()}, len(t.report.Findings), 0
}

func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.FindingsOmitted += t.omitted
	if t.at.Seen > 0 {
		t.report.Resources = append(t.report.Resources, t.at)
	}
}

// again forgets what will be seen once more: all but what was ended.
func (t *tally) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.at.Counts
	t.at.Counts = Counts{Seen: c.Deleted + c.Gone, Deleted: c.Deleted, Gone: c.Gone}
	t.report.Findings, t.omitted = t.report.Findings[:t.first], 0
}

// seen counts an object that was not to be ended.
func (t *tally) seen(i Item) {
	if i.Outcome == Refused {
		t.find(i, i.Decision.Reason, i.Decision.Message)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at.Seen++
	t.at.add(i.Outcome, 1)
	if i.Resource.isNamespaces() && i.Decision.Reason == reaper.Terminating {
		t.ending[i.Object.Name] = true
	}
}

// ended counts an object that was to be ended, and tells of it.
func (t *tally) ended(i Item) {
	switch {
	case i.Err != nil:
		t.find(i, Failed, i.Err.Error())
	case i.Outcome == Refused:
		t.find(i, i.Decision.Reason, i.Decision.Message)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at.Seen++
	t.at.add(i.Outcome, 1)
	if i.Resource.isNamespaces() && (i.Outcome == Deleted || i.Outcome == WouldDelete) {
		t.ending[i.Object.Name] = true
	}
	t.each(i)
}

func (t *tally) endsWithNamespace(o reaper.Object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return o.Namespace != "" && t.ending[o.Namespace]
}

func (t *tally) find(i Item, reason reaper.Reason, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.report.Findings) >= t.max {
		t.omitted++
		return
	}
	t.report.Findings = append(t.report.Findings, Finding{
		Resource: i.Resource.String(), Namespace: i.Object.Namespace, Name: i.Object.Name, UID: i.Object.UID,
		Reason: reason, Message: message, Held: i.Held, Gaps: i.Gaps,
	})
}

func (t *tally) gap(g Gap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Gaps = append(t.report.Gaps, g)
}

// stuck says since when an object is being deleted.
func stuck(o reaper.Object, now time.Time) string {
	return fmt.Sprintf("it is being deleted for %d minutes: see its finalizers, which Pharos never removes", int(now.Sub(o.Deleted).Minutes()))
}
