package sweep

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/reaper"
)

// Reasons of findings, in addition to those of a decision.
const (
	// Stuck: it is being deleted for longer than Config.StuckAfter.
	Stuck reaper.Reason = "Stuck"
	// Failed: it could not be ended, or warned of.
	Failed reaper.Reason = "Failed"
)

// Counts are how many objects there were, and what became of them. They are of what
// the pass looked at: what says that it is transient.
type Counts struct {
	Seen        int `json:"seen"`
	Deleted     int `json:"deleted"`
	WouldDelete int `json:"wouldDelete"`
	// Gone were already when they were to be deleted.
	Gone    int `json:"gone"`
	Kept    int `json:"kept"`
	Waiting int `json:"waiting"`
	Refused int `json:"refused"`
	// Failed are those that are past their end and could not be deleted.
	Failed int `json:"failed"`
}

func (c *Counts) add(o Outcome, n int) {
	switch o {
	case Deleted:
		c.Deleted += n
	case WouldDelete:
		c.WouldDelete += n
	case Gone:
		c.Gone += n
	case Kept:
		c.Kept += n
	case Waiting:
		c.Waiting += n
	case Refused:
		c.Refused += n
	default:
		c.Failed += n
	}
}

// ResourceCounts are the counts of one resource, named as kubectl does.
type ResourceCounts struct {
	Resource string `json:"resource"`
	Counts
}

// Finding is an object that a person has to look at.
type Finding struct {
	Resource  string        `json:"resource"`
	Kind      string        `json:"kind"`
	Namespace string        `json:"namespace,omitempty"`
	Name      string        `json:"name"`
	UID       string        `json:"uid"`
	Reason    reaper.Reason `json:"reason"`
	Message   string        `json:"message"`
	// Held and Gaps are why a namespace stays, see Result.
	Held []Held `json:"held,omitempty"`
	Gaps []Gap  `json:"gaps,omitempty"`
}

// Report is what one pass did and found.
type Report struct {
	// Started and Ended are times of the API server.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	DryRun  bool      `json:"dryRun"`
	Counts  Counts    `json:"counts"`
	// Resources are those that have objects that are transient, by name.
	Resources []ResourceCounts `json:"resources"`
	// Findings are the first of them; FindingsOmitted more are only counted.
	Findings        []Finding `json:"findings"`
	FindingsOmitted int       `json:"findingsOmitted"`
	// Gaps are what could not be looked at.
	Gaps []Gap `json:"gaps"`
}

// Clean says that nothing is left to be looked at by a person: no findings and no gaps.
func (r Report) Clean() bool { return len(r.Findings) == 0 && len(r.Gaps) == 0 }

func (r *Report) finish(at time.Time) {
	r.Ended = at.UTC().Truncate(time.Second)
	slices.SortFunc(r.Resources, func(a, b ResourceCounts) int { return strings.Compare(a.Resource, b.Resource) })
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, c := range r.Resources {
		r.Counts.sum(c.Counts)
	}
}

func (c *Counts) sum(o Counts) {
	c.Seen += o.Seen
	c.Deleted += o.Deleted
	c.WouldDelete += o.WouldDelete
	c.Gone += o.Gone
	c.Kept += o.Kept
	c.Waiting += o.Waiting
	c.Refused += o.Refused
	c.Failed += o.Failed
}
