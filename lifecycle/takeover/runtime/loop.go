package runtime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/takeover/watch"
)

// loop is one Run. All but what it starts happens in one goroutine.
type loop struct {
	*Local
	out        *lines
	builder    *builder
	supervisor *supervise.Supervisor

	revision   string
	program    string // that was built
	generation int
	process    *process
	probing    func() // ends the watching of its ports
	failure    string // why none runs, if it should
	announced  bool   // the failure was told
	parked     bool
	ending     bool
	polling    string           // why there are no events of files
	unseen     string           // why files are not looked at
	due        <-chan time.Time // the next look at a crash

	building func() // ends the build under way; nil if none is
	built    chan built
}

func (o *loop) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	changes, failed := make(chan watch.Change), make(chan error, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		failed <- watch.Run(ctx, watch.Config{
			Root: o.config.Root, Files: o.config.Inputs, Env: o.config.Environ, Polling: o.config.Polling,
			Changed: func(c watch.Change) {
				select {
				case changes <- c:
				case <-ctx.Done():
				}
			},
		})
	})
	defer watching.Wait()
	defer cancel()
	defer o.end()
	for {
		var ended <-chan struct{}
		if o.process != nil {
			ended = o.process.ended
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case c := <-changes:
			o.changed(ctx, c)
		case b := <-o.built:
			o.finished(ctx, b)
		case <-ended:
			o.crashed(ctx, o.process.failure())
		case <-o.due:
			o.step(ctx)
		case done := <-o.asks:
			o.asked(ctx, done)
		}
	}
}

// changed takes up an edit.
func (o *loop) changed(ctx context.Context, c watch.Change) {
	first := o.revision == ""
	o.watched(c)
	if o.revision == string(c.State) {
		return
	}
	o.revision = string(c.State)
	if first {
		if o.step(ctx); !o.parked { // it may have been before this process
			o.deliver(ctx)
		}
		return
	}
	e := Event{Type: EventChanged, Paths: c.Paths}
	if c.Others > 0 {
		e.Reason = fmt.Sprintf("and %d more", c.Others)
	}
	o.tell(e)
	if o.process != nil && o.builder == nil {
		switch o.config.Reload {
		case catalogue.ReloadSelf:
			o.step(ctx)
			return
		case catalogue.ReloadSignal:
			o.signal(ctx)
			return
		}
	}
	o.deliver(ctx)
}

// watched tells how edits are seen, if that is another way than before.
func (o *loop) watched(c watch.Change) {
	switch {
	case c.Trouble != "" && c.Trouble != o.unseen:
		o.trouble(fmt.Errorf("edits are not seen until this works again, which is tried: %s", c.Trouble))
	case c.Polling != "" && c.Polling != o.polling:
		o.tell(Event{Type: EventPolling, Reason: c.Polling})
	case c.Trouble == "" && o.unseen != "" || c.Polling == "" && o.polling != "":
		o.tell(Event{Type: EventWatching, Reason: "edits are seen again as they are saved"})
	}
	o.unseen, o.polling = c.Trouble, c.Polling
}

// deliver has a process run what the working tree holds.
func (o *loop) deliver(ctx context.Context) {
	if o.builder == nil {
		o.swap(ctx)
		return
	}
	o.stopBuilding()
	building, cancel := context.WithCancel(ctx)
	done := make(chan built, 1)
	go func() { done <- o.builder.build(building) }()
	o.built = done
	o.building = func() {
		cancel()
		<-done // so that it writes no more
	}
	o.change(func(s *State) {
		s.Building = true
		if o.process == nil {
			s.Phase = Building
		}
	})
	if o.process == nil {
		o.due = nil
		o.gate.close()
	}
	o.tell(Event{Type: EventBuilding})
}

func (o *loop) stopBuilding() {
	if o.building != nil {
		o.building()
		o.building, o.built = nil, nil
	}
}

// finished takes up a build.
func (o *loop) finished(ctx context.Context, b built) {
	o.building, o.built = nil, nil
	if ctx.Err() != nil {
		return
	}
	if b.err != nil {
		if b.problems == nil {
			b.problems = []Problem{{Message: cut(b.err.Error())}}
		}
		for line := range splitLines(b.output) {
			o.out.write([]byte(line))
		}
		idle := o.process == nil && o.due == nil // what crashed meanwhile is about to be restarted
		o.change(func(s *State) {
			s.Building, s.Problems = false, b.problems
			if idle {
				s.Phase, s.Reason = Failed, "it could not be built"
			}
		})
		if idle {
			o.gate.fail("it could not be built")
		}
		e := Event{Type: EventBuildFailed, Problems: b.problems, Took: b.took}
		if o.process != nil {
			e.Generation, e.PID = o.generation, o.process.pid
		}
		o.tell(e)
		return
	}
	o.change(func(s *State) { s.Building, s.Problems = false, nil })
	o.tell(Event{Type: EventBuilt, Took: b.took})
	o.program = b.program
	o.swap(ctx)
	o.builder.keep(b.program)
}

// swap ends the process, if one runs, and starts what is there by now.
func (o *loop) swap(ctx context.Context) {
	o.stop(ctx)
	if ctx.Err() != nil {
		return
	}
	o.failure, o.parked, o.due = "", false, nil
	o.swapped(o.generation)
	o.start(ctx)
	o.step(ctx)
}

// stop lets requests that are under way end, and ends the process.
func (o *loop) stop(ctx context.Context) {
	if o.process == nil {
		return
	}
	o.change(func(s *State) { s.Phase = Swapping })
	if !o.ending {
		o.gate.close()
	}
	begun := time.Now()
	o.tell(Event{Type: EventStopping, Generation: o.generation, PID: o.process.pid})
	draining, cancel := context.WithTimeout(ctx, o.config.Grace/2)
	o.gate.drain(draining)
	cancel()
	o.probing()
	killed := o.process.stop(max(0, o.config.Grace-time.Since(begun)))
	e := Event{Type: EventStopped, Generation: o.generation, PID: o.process.pid, Took: time.Since(begun)}
	if killed {
		e.Reason = fmt.Sprintf("it was killed, since it had not ended within %s", o.config.Grace)
	}
	o.process = nil
	o.change(func(s *State) { s.PID = 0 })
	o.tell(e)
}

// end ends everything.
func (o *loop) end() {
	o.stopBuilding()
	o.ending = true
	o.gate.fail("it is being stopped")
	o.stop(context.Background())
	if o.generation == 0 {
		return
	}
	if err := o.config.freed(context.Background()); err != nil {
		o.trouble(o.stray(err))
	}
}

// stray says of a port that is in use who may have it.
func (o *loop) stray(err error) error {
	return fmt.Errorf("%w. It may be what %s has started in a process group of its own (setsid, a daemon), which does not end with it", err, o.config.Name)
}

// start starts a process. If it cannot, that is a crash.
func (o *loop) start(ctx context.Context) {
	o.gate.close()
	if err := o.config.freed(ctx); err != nil {
		if o.generation > 0 {
			err = o.stray(err)
		}
		o.failure, o.announced = err.Error(), false
		return
	}
	command := o.config.Command
	if o.builder != nil {
		command = append([]string{o.program}, o.config.Args...)
	}
	p, err := o.config.start(command, o.out)
	if err != nil {
		o.failure, o.announced = err.Error(), false
		return
	}
	o.generation++
	o.process, o.failure = p, ""
	o.change(func(s *State) {
		s.Phase, s.Generation, s.PID, s.Reason, s.Next = Starting, o.generation, p.pid, "", time.Time{}
	})
	o.gate.started(o.generation)
	o.tell(Event{Type: EventStarted, Generation: o.generation, PID: p.pid})
	o.probe(p, o.generation)
}

// probe tells when a process listens on all its ports.
func (o *loop) probe(p *process, generation int) {
	ctx, cancel := context.WithCancel(context.Background())
	var probes, telling sync.WaitGroup
	for _, port := range o.config.Ports {
		probes.Go(func() {
			late := func() {
				o.gate.listens(generation, port.Container, false)
				why := fmt.Sprintf("it does not listen on port %d", port.Local)
				o.change(func(s *State) {
					if s.Generation == generation && s.Phase == Starting {
						s.Reason = why
					}
				})
				o.tell(Event{Type: EventSilent, Generation: generation, PID: p.pid, Reason: why})
			}
			if p.listens(ctx, port.Local, late) {
				o.gate.listens(generation, port.Container, true)
			}
		})
	}
	telling.Go(func() {
		probes.Wait()
		select {
		case <-ctx.Done():
			return
		case <-p.ended:
			return
		default:
		}
		o.change(func(s *State) {
			if s.Generation == generation && s.Phase == Starting {
				s.Phase, s.Reason = Serving, ""
			}
		})
		o.tell(Event{Type: EventReady, Generation: generation, PID: p.pid, Took: time.Since(p.begun)})
	})
	o.probing = func() {
		cancel()
		telling.Wait()
	}
}

// signal has a process read its files again.
func (o *loop) signal(ctx context.Context) {
	if err := o.process.cmd.Process.Signal(signalNamed(o.config.Signal)); err != nil {
		return // it has just ended
	}
	o.tell(Event{Type: EventSignalled, Generation: o.generation, PID: o.process.pid, Reason: o.config.Signal})
	o.step(ctx)
}

// crashed takes up the end of a process that was not asked to.
func (o *loop) crashed(ctx context.Context, failure string) {
	o.probing()
	o.process, o.failure, o.announced = nil, failure, false
	o.step(ctx)
}
