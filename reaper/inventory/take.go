package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// Request says where to look, and what is known before.
type Request struct {
	// Namespaces are looked into, and AllNamespaces looks into all: exactly one of
	// them is set. Of what has no namespace, transient and retained objects, what is
	// declared, and released volumes of these namespaces are seen in any case;
	// AllNamespaces sees custom resources and other volumes too.
	Namespaces    []string
	AllNamespaces bool
	// Declared is what is meant to be there. Nil if that is not known: nothing is
	// missing or an orphan then.
	Declared *Declaration
	// Samples are what earlier looks counted, in the order of time; see Samples.Load.
	// None tell of no trend.
	Samples []Sample
	// Coverage are gaps that the caller knows of already, such as that the
	// declaration could not be read.
	Coverage []Gap
}

// Take looks once, by lists of metadata that are read at the same time. It writes
// nothing. What cannot be read is in the report's Coverage; the error is of a server
// that does not answer at all or does not say what it serves, of a Request that is not
// valid, or the context's.
func (i *Inventory) Take(ctx context.Context, r Request) (Report, error) {
	if r.AllNamespaces == (len(r.Namespaces) > 0) {
		return Report{}, errors.New("inventory: exactly one of Request.Namespaces and AllNamespaces is to be set")
	}
	for _, ns := range r.Namespaces {
		if _, err := pathOf(namespaces, "", ns); err != nil {
			return Report{}, fmt.Errorf("inventory: Request.Namespaces: %w", err)
		}
	}
	l := newLook(i, r)
	resources, err := l.discover(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("inventory: %w", err)
	}
	l.report.Time = i.clock.Now().UTC()
	if !i.clock.Heard() {
		l.gap(Gap{Message: "the API server's answers have no Date: ages and ends are by the clock of this machine"})
	}
	l.divide()
	l.readNamespaces(ctx)
	l.readAll(ctx, resources)
	l.compare(ctx)
	l.conclude()
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	return l.report, nil
}

// look is one look at a target.
type look struct {
	inventory *Inventory
	request   Request
	partition partition

	mu sync.Mutex
	// read are the lists that are complete.
	read map[cell]bool
	// kinds are the resources by group and kind, stale the groups that may have more.
	// unready says that the server may have any that is not among them.
	kinds   map[[2]string]kubeclient.Resource
	stale   map[string]bool
	unready bool
	// tiers are those of the namespaces.
	tiers map[string]string
	collection
	report Report
}

func newLook(i *Inventory, r Request) *look {
	l := &look{inventory: i, request: r, read: map[cell]bool{}, kinds: map[[2]string]kubeclient.Resource{}, stale: map[string]bool{}, tiers: map[string]string{}, collection: newCollection()}
	l.report.Coverage = slices.Clone(r.Coverage)
	if !r.AllNamespaces {
		l.report.Namespaces = slices.Compact(slices.Sorted(slices.Values(r.Namespaces)))
	}
	return l
}

// cell is one list: a resource in a namespace, or in all.
type cell struct{ resource, namespace string }

// discover returns the resources that are to be listed. What a server that is not ready
// leaves out is not known.
func (l *look) discover(ctx context.Context) ([]kubeclient.Resource, error) {
	if err := kubeclient.Retry(ctx, func() error { return kubeclient.Ready(ctx, l.inventory.client) }); err != nil && ctx.Err() == nil {
		l.unready, l.report.Partial = true, true
		l.gap(Gap{Forbidden: apierrors.IsForbidden(err), Message: err.Error()})
	}
	var resources []kubeclient.Resource
	err := kubeclient.Retry(ctx, func() error {
		all, stale, err := kubeclient.Discover(ctx, l.inventory.client)
		if err != nil {
			return err
		}
		for _, gv := range stale {
			l.stale[gv.Group] = true
			l.report.Partial = true
			l.gap(Gap{Resource: gv.String(), Message: "the server that serves this group did not answer: which resources it has is not known"})
		}
		for _, r := range all {
			l.kinds[[2]string{r.Group, r.Kind}] = r
			if r.Can("list", "delete") && !l.inventory.excluded(r) {
				resources = append(resources, r)
			}
		}
		return nil
	})
	return resources, err
}

// excluded are the resources that are never listed, since they are secret, no objects
// of anybody, or, as Endpoints, what EndpointSlices are, and those of the Config.
func (i *Inventory) excluded(r kubeclient.Resource) bool {
	name := r.String()
	return slices.Contains([]string{"secrets", "events", "events.events.k8s.io", "endpoints"}, name) || slices.Contains(i.config.Exclude, name)
}

// divide sets up the partition, before anything is read.
func (l *look) divide() {
	p := partition{rules: l.inventory.config.Rules, now: l.report.Time, target: l.inventory.config.Target,
		known: l.request.Declared != nil, declared: map[Ref]bool{}, orphans: map[Ref]bool{}, ending: map[string]bool{}}
	if d := l.request.Declared; d != nil {
		for _, o := range d.Objects {
			p.declared[o.Ref] = true
		}
		for _, o := range d.Orphans {
			p.orphans[o] = true
		}
	}
	l.partition = p
}

var namespaces = kubeclient.Resource{Version: "v1", Resource: "namespaces", Kind: "Namespace"}

// readNamespaces finds out which namespaces are to end, since what is in them is
// judged by that. Where they cannot be listed, those in question are read by name.
func (l *look) readNamespaces(ctx context.Context) {
	var all []seen
	err := l.inventory.list(ctx, namespaces, "", func(page []seen) { all = append(all, page...) })
	if err == nil {
		l.read[cell{namespaces.String(), ""}] = true
	} else if ctx.Err() == nil {
		l.gap(gapOf(namespaces, "", "", err))
		for _, name := range l.report.Namespaces {
			o, err := l.inventory.get(ctx, namespaces, "", name)
			switch {
			case err == nil:
				all = append(all, seen{Object: o})
			case !apierrors.IsNotFound(err):
				l.gap(gapOf(namespaces, "", name, err))
			}
		}
	}
	for _, ns := range all {
		l.tiers[ns.Name] = ns.Labels[keys.Tier]
		if where, _ := l.partition.place(ns.Object); where == transient {
			l.partition.ending[ns.Name] = true
		}
	}
	l.add(namespaces, all)
}

// readAll lists all resources but namespaces.
func (l *look) readAll(ctx context.Context, resources []kubeclient.Resource) {
	type job struct {
		resource  kubeclient.Resource
		namespace string
	}
	var jobs []job
	for _, r := range resources {
		switch {
		case r.String() == namespaces.String():
		case r.Namespaced && !l.request.AllNamespaces:
			for _, ns := range l.report.Namespaces {
				jobs = append(jobs, job{r, ns})
			}
		default:
			jobs = append(jobs, job{r, ""})
		}
	}
	l.each(ctx, len(jobs), func(n int) { l.readOne(ctx, jobs[n].resource, jobs[n].namespace) })
}

// readOne lists a resource. Where that is forbidden in all namespaces at once, those
// of the declaration may still be readable.
func (l *look) readOne(ctx context.Context, r kubeclient.Resource, namespace string) {
	err := l.inventory.list(ctx, r, namespace, func(page []seen) { l.add(r, page) })
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.read[cell{r.String(), namespace}] = true
		return
	}
	if ctx.Err() != nil {
		return
	}
	l.gap(gapOf(r, namespace, "", err))
	if namespace == "" && r.Namespaced && apierrors.IsForbidden(err) {
		for _, ns := range l.declaredNamespaces() {
			l.readOne(ctx, r, ns)
		}
	}
}

// declaredNamespaces are the namespaces of the declared objects.
func (l *look) declaredNamespaces() []string {
	if l.request.Declared == nil {
		return nil
	}
	var names []string
	for _, o := range l.request.Declared.Objects {
		if o.Namespace != "" {
			names = append(names, o.Namespace)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// complete says whether the whole of a resource was listed where the namespace is.
func (l *look) complete(r kubeclient.Resource, namespace string) bool {
	return l.read[cell{r.String(), ""}] || r.Namespaced && l.read[cell{r.String(), namespace}]
}

// each calls f for the first n numbers, as many at once as are allowed.
func (l *look) each(ctx context.Context, n int, f func(int)) {
	var g errgroup.Group
	g.SetLimit(l.inventory.config.Concurrency)
	for k := range n {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { f(k); return nil })
	}
	_ = g.Wait()
}

// add takes in a page.
func (l *look) add(r kubeclient.Resource, page []seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range page {
		where, decision := l.partition.place(s.Object)
		l.collect(l, r, s, where, decision)
	}
}

func (l *look) gap(g Gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report.Coverage = append(l.report.Coverage, g)
}

// find adds a finding. It is for one goroutine, as all that concludes.
func (l *look) find(p Problem, of *Ref, resource, message string) {
	l.report.Findings = append(l.report.Findings, Finding{Problem: p, Object: of, Resource: resource, Message: message})
}

// resourceOf names the resource of an object as kubectl does.
func (l *look) resourceOf(o Ref) string {
	if r, ok := l.kinds[[2]string{o.Group, o.Kind}]; ok {
		return r.String()
	}
	return strings.TrimSuffix(strings.ToLower(o.Kind)+"."+o.Group, ".")
}

func activityOf(o reaper.Object) (i reaper.Intent) {
	i, _ = reaper.ReadIntent(o.Labels, o.Annotations)
	if o.Created.After(i.LastActive) {
		i.LastActive = o.Created
	}
	return i
}
