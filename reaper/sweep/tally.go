package sweep

import (
	"fmt"
	"slices"
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
	parts  []*part
	// findings are how many all parts have.
	findings int
	// ending are the namespaces that are being deleted, or would be.
	ending map[string]bool
}

// part is what is told of one list.
type part struct {
	tally    *tally
	counts   ResourceCounts
	findings []Finding
	omitted  int // findings that are only counted
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

// begin begins with a list of a resource.
func (t *tally) begin(r Resource) *part {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &part{tally: t, counts: ResourceCounts{Resource: r.String()}}
	t.parts = append(t.parts, p)
	return p
}

// again forgets what will be seen once more: all but what was ended.
func (p *part) again() {
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	c := p.counts.Counts
	p.counts.Counts = Counts{Seen: c.Deleted + c.Gone, Deleted: c.Deleted, Gone: c.Gone}
	p.tally.findings -= len(p.findings)
	p.findings, p.omitted = nil, 0
}

// seen counts an object that was not to be ended.
func (p *part) seen(i Item) {
	if i.Outcome == Refused {
		p.find(i, i.Decision.Reason, i.Decision.Message)
	}
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	p.counts.Seen++
	p.counts.add(i.Outcome, 1)
	if i.Resource.isNamespaces() && i.Decision.Reason == reaper.Terminating {
		p.tally.ending[i.Object.Name] = true
	}
}

// covered counts objects that end with their namespace.
func (p *part) covered(n int) {
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	p.counts.Seen += n
	p.counts.add(Kept, n)
}

// ended counts an object that was to be ended, and tells of it.
func (p *part) ended(i Item) {
	switch {
	case i.Err != nil:
		p.find(i, Failed, i.Err.Error())
	case i.Outcome == Refused:
		p.find(i, i.Decision.Reason, i.Decision.Message)
	}
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	p.counts.Seen++
	p.counts.add(i.Outcome, 1)
	if i.Resource.isNamespaces() && (i.Outcome == Deleted || i.Outcome == WouldDelete) {
		p.tally.ending[i.Object.Name] = true
	}
	p.tally.each(i)
}

// ends says that a namespace is being deleted, or would be.
func (t *tally) ends(namespace string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return namespace != "" && t.ending[namespace]
}

func (p *part) find(i Item, reason reaper.Reason, message string) {
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	if p.tally.findings >= p.tally.max {
		p.omitted++
		return
	}
	p.tally.findings++
	p.findings = append(p.findings, Finding{
		Resource: i.Resource.String(), Kind: i.Resource.Kind, Namespace: i.Object.Namespace, Name: i.Object.Name, UID: i.Object.UID,
		Reason: reason, Message: message, Held: i.Held, Gaps: i.Gaps,
	})
}

func (t *tally) gap(g Gap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.report.Gaps, g) {
		t.report.Gaps = append(t.report.Gaps, g)
	}
}

// finish puts the report together, when nothing is counted any more.
func (t *tally) finish(at time.Time) Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := map[string]int{}
	for _, p := range t.parts {
		t.report.Findings = append(t.report.Findings, p.findings...)
		t.report.FindingsOmitted += p.omitted
		if p.counts.Seen == 0 {
			continue
		}
		n, there := of[p.counts.Resource]
		if !there {
			n = len(t.report.Resources)
			of[p.counts.Resource] = n
			t.report.Resources = append(t.report.Resources, ResourceCounts{Resource: p.counts.Resource})
		}
		t.report.Resources[n].sum(p.counts.Counts)
	}
	t.report.finish(at)
	return t.report
}

// stuck says since when an object is being deleted.
func stuck(o reaper.Object, now time.Time) string {
	return fmt.Sprintf("it is being deleted for %d minutes: see its finalizers, which Pharos never removes", int(now.Sub(o.Deleted).Minutes()))
}
