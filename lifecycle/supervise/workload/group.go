package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// GroupConfig says which workloads a Group supervises.
type GroupConfig struct {
	// Client reaches the cluster, with the caller's limits of rate and time. Required.
	Client dynamic.Interface
	// Namespaces are those of the workloads. At least one is required.
	Namespaces []string
	// Policy is the budget of each workload. The default is that of the zero value.
	Policy supervise.Policy
	// Patience is that of each workload's Config.
	Patience time.Duration
	// Every is how long Run waits between two rounds. The default is 10 s.
	Every time.Duration
	// Clock tells the time of the API server. The default is this machine's.
	Clock supervise.Clock
	// Left says why the workloads of a target are left alone for now: somebody has its
	// lease, for example; empty if they are not. A workload is that of the target which
	// its label pharos.dev/target names; one without the label is always supervised. It
	// is asked once a round for each target. After an error they are left alone, too.
	// The default leaves none alone.
	Left func(ctx context.Context, target string) (reason string, err error)
	// Observed is told what each round of Run came to: what Round returned. The default
	// discards it.
	Observed func([]Result, error)
}

// Group supervises those Deployments, StatefulSets and DaemonSets of some namespaces
// that ask for it, by the label pharos.dev/supervise=true. It is safe for concurrent
// use, also of several processes: what is known of a workload stands on it.
type Group struct{ config GroupConfig }

// Result is what a round came to for one workload.
type Result struct {
	Kind            Kind
	Namespace, Name string
	// Left is why it was left alone; empty if a step was made.
	Left string
	// Report and Err are what supervise.Supervisor.Step returned; with Left the Report has
	// what is stored alone, and Err is why it could not be told.
	Report supervise.Report
	Err    error

	target string
}

// NewGroup returns a Group. It makes no call. The error matches supervise.ErrInvalid and
// has every rule that is broken.
func NewGroup(c GroupConfig) (*Group, error) {
	var errs []error
	if c.Client == nil || len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, "") {
		errs = append(errs, errors.New("the Client and Namespaces that have a name are required"))
	}
	if c.Every < 0 || c.Patience < 0 {
		errs = append(errs, fmt.Errorf("the times Every (%s) and Patience (%s) have to be more than 0", c.Every, c.Patience))
	}
	if _, err := supervise.New(supervise.Config{Thing: &Workload{}, Store: &Workload{}, Policy: c.Policy}); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("workload: %w GroupConfig: %w", supervise.ErrInvalid, errors.Join(errs...))
	}
	c.Namespaces = slices.Compact(slices.Sorted(slices.Values(c.Namespaces)))
	c.Every = cmp.Or(c.Every, 10*time.Second)
	if c.Clock == nil {
		c.Clock = machine{}
	}
	if c.Observed == nil {
		c.Observed = func([]Result, error) {}
	}
	if c.Left == nil {
		c.Left = func(context.Context, string) (string, error) { return "", nil }
	}
	return &Group{c}, nil
}

// machine is this machine's clock.
type machine struct{}

func (machine) Now() time.Time                         { return time.Now() }
func (machine) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Run makes a round at once and then again and again until ctx ends, and returns nil.
func (g *Group) Run(ctx context.Context) error {
	for {
		results, err := g.Round(ctx)
		if ctx.Err() != nil {
			return nil
		}
		g.config.Observed(results, err)
		select {
		case <-g.config.Clock.After(g.config.Every):
		case <-ctx.Done():
			return nil
		}
	}
}

// The bounds of a round.
const (
	atOnce  = 8
	longest = time.Minute // of a step
)

// Round looks for the workloads that ask for it and makes one step of each, several at
// once. The results are sorted by namespace, kind and name. The error has the kinds and
// namespaces that could not be listed, whose workloads have no result; the round goes
// on with the others.
func (g *Group) Round(ctx context.Context) ([]Result, error) {
	var results []Result
	var errs []error
	for _, namespace := range g.config.Namespaces {
		for _, kind := range []Kind{DaemonSet, Deployment, StatefulSet} {
			found, err := g.find(ctx, kind, namespace)
			results = append(results, found...)
			if err != nil {
				errs = append(errs, fmt.Errorf("list the %s of namespace %s that are supervised: %w", kind.resource(), namespace, err))
			}
		}
	}
	g.leave(ctx, results)
	var steps errgroup.Group
	steps.SetLimit(atOnce)
	for n := range results {
		if results[n].Left != "" {
			continue
		}
		steps.Go(func() error { g.step(ctx, &results[n]); return nil })
	}
	_ = steps.Wait()
	return results, errors.Join(errs...)
}

// find returns the workloads of a kind that ask for it, and nothing beside an error.
func (g *Group) find(ctx context.Context, kind Kind, namespace string) ([]Result, error) {
	var found []Result
	o := metav1.ListOptions{LabelSelector: keys.Supervise + "=" + keys.SuperviseTrue, Limit: page}
	for {
		list, err := g.config.Client.Resource(apps(kind.resource())).Namespace(namespace).List(ctx, o)
		if err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			if item.GetDeletionTimestamp() != nil {
				continue
			}
			r := Result{Kind: kind, Namespace: namespace, Name: item.GetName(), target: item.GetLabels()[keys.Target]}
			r.Report.State, _ = StateOf(item.GetAnnotations()) // the step says what is wrong with it
			found = append(found, r)
		}
		if o.Continue = list.GetContinue(); o.Continue == "" {
			slices.SortFunc(found, func(a, b Result) int { return strings.Compare(a.Name, b.Name) })
			return found, nil
		}
	}
}

// leave finds the workloads that are left alone.
func (g *Group) leave(ctx context.Context, results []Result) {
	type answer struct {
		reason string
		err    error
	}
	asked := map[string]answer{"": {}}
	for n := range results {
		r := &results[n]
		a, known := asked[r.target]
		if !known {
			if a.reason, a.err = g.left(ctx, r.target); a.err != nil {
				a.reason = "it cannot be told whether target " + r.target + " is somebody's just now"
			}
			asked[r.target] = a
		}
		r.Left, r.Err = a.reason, a.err
	}
}

func (g *Group) left(ctx context.Context, target string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("it took longer than %s", longest))
	defer cancel()
	return g.config.Left(ctx, target)
}

// step makes one step of a workload.
func (g *Group) step(ctx context.Context, r *Result) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("it took longer than %s", longest))
	defer cancel()
	w, err := New(Config{Client: g.config.Client, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Patience: g.config.Patience, Now: g.config.Clock.Now})
	if err != nil {
		r.Err = err
		return
	}
	s, err := supervise.New(supervise.Config{Thing: w, Store: w, Policy: g.config.Policy, Clock: g.config.Clock})
	if err != nil {
		r.Err = err
		return
	}
	r.Report, r.Err = s.Step(ctx)
}
