package takeovertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// Workstation serves every agent there is.
type Workstation struct {
	// Fail is the error of Start.
	Fail error

	mu        sync.Mutex
	running   map[string]*process
	recovered int
}

// Recover implements takeover.Workstation.
func (w *Workstation) Recover() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recovered++
	return nil
}

// Recovered is how often Recover was called.
func (w *Workstation) Recovered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recovered
}

// Start implements takeover.Workstation.
func (w *Workstation) Start(_ context.Context, r takeover.StartRequest) (takeover.Process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Fail != nil {
		return nil, w.Fail
	}
	if w.running == nil {
		w.running = map[string]*process{}
	}
	p := &process{request: r, of: w, state: runtime.State{Phase: runtime.Serving}}
	w.running[r.Workload.Name] = p
	return p, nil
}

// Variables implements takeover.Workstation: it knows of nothing more than the plan.
func (w *Workstation) Variables(of takeover.Workload) ([]environment.Name, error) {
	return of.Environment, nil
}

// Names are the workloads that run.
func (w *Workstation) Names() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.running {
		names = append(names, name)
	}
	return names
}

// processOf is the process of a workload; nil if none runs.
func (w *Workstation) processOf(name string) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[name]
}

// Changed has the process of a workload say that its files were edited.
func (w *Workstation) Changed(name string) {
	if p := w.processOf(name); p != nil {
		p.request.Observed(runtime.Event{Time: time.Now(), Type: runtime.EventChanged, Name: name})
	}
}

// Connections has the process of a workload say how many agents there are, and how many
// of them are connected.
func (w *Workstation) Connections(name string, connected, agents int) {
	if p := w.processOf(name); p != nil {
		p.request.Changed(connected, agents)
	}
}

// Becomes has the process of a workload be in a state.
func (w *Workstation) Becomes(name string, state runtime.State) {
	if p := w.processOf(name); p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state = state
	}
}

// Forwarded has the process of a workload say where Services are.
func (w *Workstation) Forwarded(name string, all ...takeover.ForwardStatus) {
	if p := w.processOf(name); p != nil {
		p.request.Forwarded(all)
	}
}

// Permitted says whether a connection to a workload would be served now.
func (w *Workstation) Permitted(ctx context.Context, name string) error {
	p := w.processOf(name)
	if p == nil {
		return errors.New("it does not run")
	}
	return p.request.Permit(ctx)
}

type process struct {
	of      *Workstation
	request takeover.StartRequest
	mu      sync.Mutex
	serves  bool
	state   runtime.State
}

func (p *process) Serve(ctx context.Context, _ divert.Diversion) error {
	p.mu.Lock()
	p.serves = true
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.serves = false
	p.mu.Unlock()
	return nil
}

func (p *process) Connected(types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.serves
}

func (p *process) Restart(context.Context) error { return nil }

func (p *process) State() runtime.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *process) Stop() error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	delete(p.of.running, p.request.Workload.Name)
	return nil
}
