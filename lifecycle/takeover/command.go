package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	// errAsked is why a session hands everything back.
	errAsked = errors.New("it was asked to hand back")
	// ErrNoSession is returned for what is asked of a session that does not run.
	ErrNoSession = errors.New("no session runs")
	// ErrUnknownWorkload is returned for a name that no workload of the session has.
	ErrUnknownWorkload = errors.New("the session has no such workload")
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

// Restart starts the processes of these workloads anew, also those that are parked: of
// all of them without a name.
func (s *Session) Restart(ctx context.Context, names ...string) error {
	parts, err := s.find(names)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range parts {
		if process := s.processOf(p); process != nil {
			errs = append(errs, process.Restart(ctx))
		}
	}
	return errors.Join(errs...)
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
	if len(names) == 0 {
		return slices.Clone(s.parts), nil
	}
	var there []string
	for _, p := range s.parts {
		there = append(there, p.workload.Namespace+"/"+p.workload.Name)
	}
	var found []*part
	var unknown []string
	for _, name := range names {
		i := slices.IndexFunc(s.parts, func(p *part) bool { return p.workload.called(name) })
		if i < 0 {
			unknown = append(unknown, strconv.Quote(name))
			continue
		}
		found = append(found, s.parts[i])
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
