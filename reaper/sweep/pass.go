package sweep

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// DefaultMaxFindings is how many findings a report holds.
const DefaultMaxFindings = 1000

// PassOptions say what a pass looks at.
type PassOptions struct {
	// Resources are named as kubectl does, or Everything. The default is
	// DefaultResources.
	Resources []string
	// Namespace is the only one that is looked at, itself and what is in it; all of
	// them if empty.
	Namespace string
	// MaxFindings bounds the report. The default is DefaultMaxFindings.
	MaxFindings int
	// Each is called for every object that was to end, one at a time: Err is set, or
	// the Result's outcome. A dry run may meet an object twice, where a list had to
	// begin anew. It may be nil.
	Each func(Item)
}

// Item is what became of one object in a pass.
type Item struct {
	Resource Resource
	Result
	Err error
}

// Pass looks once at everything that is transient, ends what is past its end, and
// warns of what ends soon. It holds no more than a page of objects, its findings, and
// the names of the namespaces that are past their end: those are looked into while it
// passes over other resources, and what is in one waits until that is decided.
// What fails for one object or resource is in the report and does not stop the
// rest; the error is that discovery failed, or that the context ended, and comes with
// the report of what was done until then.
func (e *Ender) Pass(ctx context.Context, o PassOptions) (Report, error) {
	if len(o.Resources) == 0 {
		o.Resources = DefaultResources()
	}
	if o.MaxFindings <= 0 {
		o.MaxFindings = DefaultMaxFindings
	}
	t := newTally(o, e.config.DryRun)
	if why := content.IsPathSegmentName(o.Namespace); len(why) > 0 {
		return t.report, fmt.Errorf("reap: %q is no namespace: it %s", o.Namespace, strings.Join(why, " and "))
	}
	resources, gaps, err := e.Resources(ctx, o.Resources)
	if err != nil {
		return t.report, fmt.Errorf("reap: %w", err)
	}
	if !e.clock.Heard() {
		return t.report, fmt.Errorf("reap: %w", errNoDate)
	}
	t.report.Started, t.report.Gaps = e.clock.Now().UTC().Truncate(time.Second), append(t.report.Gaps, gaps...)
	p := &passing{ender: e, tally: t, namespace: o.Namespace, undecided: map[string]bool{}}
	p.run(ctx, resources)
	report := t.finish(e.clock.Now())
	if ctx.Err() != nil {
		return report, fmt.Errorf("reap: %w", context.Cause(ctx))
	}
	return report, nil
}

// selector is what the server chooses by: whatever says something of its end but that
// it is retained, for a word that is misspelt is a finding. What ends by other tools'
// keys has no such label and has to be looked for.
func (e *Ender) selector() string {
	for _, f := range e.config.Rules.Foreign {
		switch f {
		case reaper.Okteto, reaper.Loft: // they only tell of activity
		default:
			return ""
		}
	}
	return keys.Intent + "," + keys.Intent + "!=" + string(reaper.Retained)
}
