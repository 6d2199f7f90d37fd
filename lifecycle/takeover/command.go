package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var (
	// errAsked is why a session hands everything back.
	errAsked = errors.New("it was asked to hand back")
	// ErrNoSession is returned for what is asked of a session that does not run.
	ErrNoSession = errors.New("no session runs")
	// ErrUnknownWorkload is returned for a name that no workload of the session has.
	ErrUnknownWorkload = errors.New("the session has no such workload")
	// ErrNotStarted is returned for a process that is to be started anew and does not run
	// on this machine yet, or any more.
	ErrNotStarted = errors.New("no process of it runs here, since it is being taken over or handed back")
)

// command is something that is asked of a session that runs.
type command struct {
	parts []*part // to hand back; nil for all
	done  chan error
}

// HandBack asks a session that runs to hand back the workloads of these names, or all
// of them, and waits until it has, or ctx ends. A name is "shop/api", "deploy/api" or
// "api", or the image's. Errors: ErrUnknownWorkload; ErrNoSession; those of Run.
func (s *Session) HandBack(ctx context.Context, names ...string) error {
	c := command{done: make(chan error, 1)}
	if len(names) > 0 {
		var err error
		if c.parts, err = s.find(names); err != nil {
			return err
		}
	}
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	if over == nil {
		return ErrNoSession
	}
	select {
	case s.commands <- c:
	case <-over:
		return ErrNoSession
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-over:
	}
	select {
	case err := <-c.done:
		return err
	default:
		return ErrNoSession
	}
}

// isAll says whether a command is for all workloads that are left.
func (s *Session) isAll(c command) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.parts == nil || !slices.ContainsFunc(s.parts, func(p *part) bool { return !slices.Contains(c.parts, p) })
}

// Restart builds and starts the processes of these workloads anew, also those that are
// parked: of all of them without a name. It returns when the new ones are ready. Errors:
// ErrUnknownWorkload; lifecycle.ErrSource for what an edit mends, such as a build that
// fails, after which what ran before goes on; ErrNotStarted.
func (s *Session) Restart(ctx context.Context, names ...string) error {
	parts, err := s.find(names)
	if err != nil {
		return err
	}
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for i, p := range parts {
		all.Go(func() { errs[i] = s.restart(ctx, p) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s *Session) restart(ctx context.Context, p *part) error {
	process := s.processOf(p)
	if process == nil {
		return fmt.Errorf("start %s anew: %w", p.workload.Subject(), ErrNotStarted)
	}
	if err := process.Restart(ctx); err != nil {
		return fmt.Errorf("start %s anew: %w", p.workload.Subject(), err)
	}
	return nil
}

func (s *Session) processOf(p *part) Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.process
}

// find returns the parts of these names, all without one.
func (s *Session) find(names []string) ([]*part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return named(s.parts, func(p *part) Workload { return p.workload }, names)
}

// Find returns the workloads of these names, as Session.HandBack takes them, and all without
// one. The error matches ErrUnknownWorkload, and has those that there are.
func (s Status) Find(names ...string) ([]WorkloadStatus, error) {
	return named(s.Workloads, func(w WorkloadStatus) Workload {
		_, place, _ := strings.Cut(w.Workload, " ")
		namespace, name, _ := strings.Cut(place, "/")
		return Workload{Namespace: namespace, Name: name, Image: w.Image}
	}, names)
}

// named are those of a list that are called by these names, all without one.
func named[T any](list []T, of func(T) Workload, names []string) (found []T, _ error) {
	if len(names) == 0 {
		return slices.Clone(list), nil
	}
	var there, unknown []string
	for _, one := range list {
		there = append(there, of(one).Namespace+"/"+of(one).Name)
	}
	for _, name := range names {
		i := slices.IndexFunc(list, func(one T) bool { return of(one).called(name) })
		if i < 0 {
			unknown = append(unknown, strconv.Quote(name))
			continue
		}
		found = append(found, list[i])
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%w: %s; it has %s", ErrUnknownWorkload, strings.Join(unknown, ", "), cmp.Or(strings.Join(there, ", "), "none yet"))
	}
	return found, nil
}

// called says whether a name is the workload's.
func (w Workload) called(name string) bool {
	kind, rest, two := strings.Cut(name, "/")
	switch {
	case !two:
		return name == w.Name || name == w.Image
	case slices.Contains(deploymentNames, strings.ToLower(kind)):
		return rest == w.Name
	}
	return kind == w.Namespace && rest == w.Name
}
