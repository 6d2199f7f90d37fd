package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// The limits of a look into a namespace.
const (
	maxHeld    = 5  // found, then it ends
	maxLooks   = 4  // namespaces at once
	maxLookers = 8  // lists at once, of all of these
	lookPage   = 50 // objects: their metadata may have 256 KiB of annotations each
	maxTries   = 4  // until discovery and lists agree
)

// guard lets a namespace that is past its end be deleted only if nothing in it is to
// outlive it: it looks, marks the namespace, and looks again. It refuses by setting
// the result's outcome. The result's object is the marked one afterwards. The budget
// is taken between the looks, so that a namespace which cannot be looked at takes none
// of it, and nothing is waited for behind the second one; give is to be called when the
// deletion was tried, whatever is returned.
func (e *Ender) guard(ctx context.Context, res *Result) (give func(), err error) {
	give = func() {}
	if err := e.look(ctx, res, byRank); err != nil || res.Outcome != "" {
		return give, err
	}
	taken, err := e.budget.take(ctx)
	if err != nil {
		return give, err
	}
	if e.config.DryRun {
		return taken, nil
	}
	switch err := e.mark(ctx, &res.Object); {
	case kubeclient.NotFound(err):
		res.Outcome = Gone
		return taken, nil
	case err != nil:
		return taken, err
	}
	return taken, e.look(ctx, res, lastFirst)
}

// look refuses if it finds something that is to outlive the namespace, or cannot look
// at all that is in it.
func (e *Ender) look(ctx context.Context, res *Result, order order) error {
	for tries := 1; ; tries++ {
		f, err := e.lookAtAll(ctx, res.Object.Name, order)
		if kubeclient.NotFound(err) && tries < maxTries {
			continue // a resource went or came since discovery
		}
		if err == nil {
			f.refuse(res)
		}
		return err
	}
}

func (e *Ender) lookAtAll(ctx context.Context, namespace string, order order) (*found, error) {
	all, stale, err := e.discover(ctx)
	if err != nil {
		return nil, err
	}
	f := &found{held: map[Held]bool{}}
	unknown := map[schema.GroupVersion]bool{}
	for _, gv := range stale {
		unknown[gv] = true
		f.gap(staleGap(gv))
	}
	var toList []Resource
	for _, r := range all {
		switch {
		// The namespace controller deletes what can be deleted; the rest is views.
		case !r.Namespaced, !r.Can("delete"), isEvents(r), slices.Contains(e.config.Unseen, r.String()), unknown[r.GVR().GroupVersion()]:
		case !r.Can("list"):
			f.gap(Gap{r.String(), "it cannot be listed"})
		default:
			toList = append(toList, resourceOf(r))
		}
	}
	slices.SortStableFunc(toList, order)

	var g errgroup.Group // whose lists are not broken off when one has found enough
	g.SetLimit(maxLookers)
	for _, r := range toList {
		g.Go(func() error { return e.lookAt(ctx, r, namespace, f) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if f.failed {
		if _, _, err := e.discover(ctx); err != nil {
			return nil, err // it is the API server that does not answer
		}
	}
	return f, nil
}

// errEnough ends a list in which enough was found.
var errEnough = errors.New("enough was found")

// lookAt looks at all objects of one resource, unless enough is found.
func (e *Ender) lookAt(ctx context.Context, r Resource, namespace string, f *found) error {
	if f.enough() {
		return nil
	}
	give, err := e.lists.take(ctx)
	if err != nil {
		return err
	}
	defer give()
	err = e.list(ctx, listing{
		resource: r, namespace: namespace, limit: lookPage, again: func() {},
		each: func(o reaper.Object) error {
			if why := reaper.Outlives(o); why != "" {
				f.hold(Held{r.String(), r.Kind, o.Name, why})
			}
			if f.enough() {
				return errEnough
			}
			return nil
		},
	})
	switch {
	case err == nil || errors.Is(err, errEnough):
		return nil
	case kubeclient.NotFound(err) || ctx.Err() != nil:
		return err
	case kubeclient.Transient(err): // though it was tried again
		f.fail()
	}
	f.gap(Gap{r.String(), err.Error()})
	return nil
}

// order is in which order resources are looked at.
type order func(a, b Resource) int

// byRank is for finding soon that a namespace stays. lastFirst is for the last look:
// what is created after its list goes with the namespace, so that the most precious is
// listed last.
func byRank(a, b Resource) int    { return cmp.Compare(rank(a), rank(b)) }
func lastFirst(a, b Resource) int { return byRank(b, a) }

// rank is 0 for what is most likely to outlive a namespace, and highest for what there
// is most of.
func rank(r Resource) int {
	switch {
	case reaper.Durable(r.Group, r.Kind):
		return 0
	case strings.Contains(r.Group, ".") && !strings.HasSuffix(r.Group, ".k8s.io"):
		return 1
	case r.Resource == "persistentvolumeclaims", r.Resource == "statefulsets":
		return 2
	case slices.Contains([]string{"pods", "replicasets", "controllerrevisions", "endpoints", "endpointslices", "leases"}, r.Resource):
		return 4
	}
	return 3
}

// found is what a look finds. It is safe for concurrent use.
type found struct {
	mu     sync.Mutex
	held   map[Held]bool
	gaps   []Gap
	failed bool // some lists, which are gaps if the API server answers
}

func (f *found) fail() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = true
}

func (f *found) gap(g Gap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gaps = append(f.gaps, g)
}

func (f *found) hold(h Held) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.held) < maxHeld {
		f.held[h] = true // a list that began anew finds it again
	}
}

// enough says that there is no need to look further.
func (f *found) enough() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.held) >= maxHeld
}

// refuse refuses if anything was found.
func (f *found) refuse(res *Result) {
	if len(f.held) == 0 && len(f.gaps) == 0 {
		return
	}
	for h := range f.held {
		res.Held = append(res.Held, h)
	}
	slices.SortFunc(res.Held, func(a, b Held) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(f.gaps, func(a, b Gap) int { return strings.Compare(a.What, b.What) })
	res.Gaps = f.gaps
	res.Outcome = Refused
	res.Decision.Verdict, res.Decision.Reason, res.Decision.Message = reaper.Refuse, reaper.Holds, f.message(res)
}

func (f *found) message(res *Result) string {
	var parts []string
	if n := len(res.Held); n > 0 {
		h := res.Held[0]
		text := fmt.Sprintf("%s in it is to outlive it: %s", h.name(), h.Why)
		switch {
		case n >= maxHeld:
			text += fmt.Sprintf("; and %d more at least", n-1)
		case n > 1:
			text += fmt.Sprintf("; and %d more", n-1)
		}
		parts = append(parts, text)
	}
	if n := len(res.Gaps); n > 0 {
		g := res.Gaps[0]
		text := fmt.Sprintf("%s in it could not be looked at: %s", g.What, g.Why)
		if n > 1 {
			text += fmt.Sprintf("; and %d more", n-1)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
