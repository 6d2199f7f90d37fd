package takeover

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// startAll starts the processes, and returns when all are ready: from when on what the
// agents send is answered.
func (s *Session) startAll(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range s.parts {
		if p.process != nil {
			continue
		}
		g.Go(func() error {
			process, err := s.Workstation.Start(ctx, s.startRequest(p))
			if err != nil {
				s.mu.Lock()
				p.forwards = nil
				s.mu.Unlock()
				return fmt.Errorf("run %s on this machine: %w", p.workload.Subject(), err)
			}
			s.mu.Lock()
			p.process = process
			s.mu.Unlock()
			s.emitOf(p, Event{Type: EventReady})
			return nil
		})
	}
	return g.Wait()
}

// nameAll completes the variables of a plan by those that only this machine knows of.
func (s *Session) nameAll(p *Plan) error {
	for i, w := range p.Workloads {
		names, err := s.Workstation.Variables(w)
		if err != nil {
			return err
		}
		p.Workloads[i].Environment = names
	}
	return nil
}

// sweep removes what a session that was killed has left on this machine.
func (s *Session) sweep() {
	if s.Workstation == nil {
		return
	}
	if err := s.Workstation.Recover(); err != nil {
		s.emit(Event{Type: EventWarning, Reason: "what a takeover that was killed has left on this machine cannot be removed: " + err.Error()})
	}
}

func (s *Session) startRequest(p *part) StartRequest {
	return StartRequest{
		Workload: p.workload, Session: p.session, Key: s.key, Permit: s.gate.pass, Confirm: s.gate.prove,
		Observed: func(e runtime.Event) {
			s.emitOf(p, Event{Type: EventProcess, Process: &e})
			if e.Type == runtime.EventChanged {
				select {
				case s.edits <- struct{}{}:
				default:
				}
			}
		},
		Warned:    func(reason string) { s.emitOf(p, Event{Type: EventWarning, Reason: reason}) },
		Changed:   func(connected, agents int) { s.connections(p, connected, agents) },
		Forwarded: func(all []ForwardStatus) { s.forwarded(p, all) },
	}
}

// connections says how many agents are connected, if that changed.
func (s *Session) connections(p *part, connected, agents int) {
	text := connectedLine(connected, agents)
	s.mu.Lock()
	same := p.connections == text
	p.connections = text
	s.mu.Unlock()
	if same {
		return
	}
	s.emitOf(p, Event{Type: EventConnection, Reason: text})
	select {
	case s.unsure <- struct{}{}:
	default:
	}
}

// connectedLine is how many agents are connected, for people.
func connectedLine(connected, agents int) string {
	switch {
	case agents == 0:
		return "no agent is connected, and none is there"
	case connected == 0:
		return fmt.Sprintf("no agent is connected, of %d", agents)
	}
	return fmt.Sprintf("%d of %d agents are connected", connected, agents)
}

// forwarded keeps and tells where Services are.
func (s *Session) forwarded(p *part, all []ForwardStatus) {
	s.mu.Lock()
	p.forwards = all
	s.mu.Unlock()
	s.emitOf(p, Event{Type: EventForwards, Forwards: all})
}

// serve serves the agents of a workload until unserve is called. Those that are served
// already are left alone: that would cut their connections.
func (s *Session) serve(p *part) {
	d := s.diversion(p)
	of := d.UID + " " + d.Agent
	if p.serves != nil && p.serves.of == of && p.serves.ctx.Err() == nil {
		return
	}
	s.unserve(p)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		if err := p.process.Serve(ctx, d); err != nil && ctx.Err() == nil {
			s.emitOf(p, Event{Type: EventWarning, Reason: "its traffic is not served any more: " + err.Error()})
		}
	}()
	p.serves = &service{of: of, ctx: ctx, stop: func() {
		cancel()
		<-ended
	}}
}

// service is what serves the agents of a diversion.
type service struct {
	of   string          // the diversion
	ctx  context.Context // ends when nothing is served any more
	stop func()
}

// unserve ends what serve began, and waits for it.
func (s *Session) unserve(p *part) {
	if p.serves != nil {
		p.serves.stop()
		p.serves = nil
	}
}

// stopPart ends what runs of a workload on this machine.
func (s *Session) stopPart(p *part) error {
	s.unserve(p)
	s.mu.Lock()
	process := p.process
	p.process, p.serving, p.replaced, p.forwards = nil, false, "", nil
	s.mu.Unlock()
	if process == nil {
		return nil
	}
	err := process.Stop()
	s.emitOf(p, Event{Type: EventStopped})
	return err
}

func (s *Session) stopAll() error {
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, s.stopPart(p))
	}
	return errors.Join(errs...)
}
