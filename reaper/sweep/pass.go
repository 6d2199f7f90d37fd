package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
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
// warns of what ends soon. It holds no more than a page of objects and its findings at
// once. What fails for one object or resource is in the report and does not stop the
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
	for _, r := range resources {
		if o.Namespace != "" && !r.Namespaced && !r.isNamespaces() {
			continue
		}
		if err := e.passOver(ctx, r, o.Namespace, t); err != nil {
			if ctx.Err() != nil {
				t.report.finish(e.clock.Now())
				return t.report, fmt.Errorf("reap: %w", context.Cause(ctx))
			}
			t.gap(Gap{r.String(), err.Error()})
		}
	}
	t.report.finish(e.clock.Now())
	return t.report, nil
}

// passOver looks at all objects of one resource, and returns when what was to end has.
func (e *Ender) passOver(ctx context.Context, r Resource, namespace string, t *tally) error {
	t.begin(r)
	defer t.end()
	var g errgroup.Group
	g.SetLimit(e.config.ConcurrentDeletes)
	l := listing{
		resource: r, namespace: namespace, selector: e.selector(), resume: true,
		again: func() {
			_ = g.Wait() // what was to end is counted as ended
			t.again()
		},
		each: func(o reaper.Object) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			e.meet(ctx, r, o, t, g.Go)
			return nil
		},
	}
	if r.isNamespaces() && namespace != "" {
		l.namespace, l.name = "", namespace
	}
	return errors.Join(e.list(ctx, l), g.Wait())
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

// meet judges an object of a list. What is to be done about it is done meanwhile.
func (e *Ender) meet(ctx context.Context, r Resource, o reaper.Object, t *tally, start func(func() error)) {
	res := Result{Object: o, Decision: e.config.Rules.Decide(o, e.clock.Now())}
	res.Outcome = outcomeOf[res.Decision.Verdict]
	switch {
	case res.Decision.Reason == reaper.NoIntent:
		return
	case res.Decision.Verdict != reaper.Refuse && t.endsWithNamespace(o):
		t.seen(Item{r, withNamespace(res), nil})
	case res.Decision.Verdict == reaper.Delete:
		start(func() error {
			res, err := e.End(ctx, r, o.Namespace, o.Name, o.UID)
			if err != nil {
				res.Outcome, res.Object = "", o
			}
			t.ended(Item{r, res, err})
			return nil
		})
	case e.toNotify(res):
		start(func() error {
			told, err := e.Notify(ctx, r, o.Namespace, o.Name, o.UID)
			if err == nil && told.Outcome != "" { // without one it is past its end meanwhile
				res = told
			} else if err != nil && ctx.Err() == nil {
				t.find(Item{r, res, err}, Failed, err.Error())
			}
			t.seen(Item{r, res, nil})
			return nil
		})
	case res.Decision.Reason == reaper.Terminating && e.clock.Now().Sub(o.Deleted) > e.config.StuckAfter:
		t.find(Item{r, res, nil}, Stuck, stuck(o, e.clock.Now()))
		t.seen(Item{r, res, nil})
	default:
		t.seen(Item{r, res, nil})
	}
}
