package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// Local runs processes on this machine.
type Local struct {
	config Config
	gate   *gate
	asks   chan chan<- error
	ended  chan struct{} // closed when Run has

	mu       sync.Mutex
	begun    bool
	lifetime context.Context // of connections; nil before Run
	state    State
	asked    []ask
	observe  sync.Mutex
}

var _ Runtime = (*Local)(nil)

// New returns the Runtime of a process on this machine. The error matches
// ErrInvalid and has every rule that is broken, or is ErrUnsupported.
func New(c Config) (*Local, error) {
	if !supported {
		return nil, fmt.Errorf("run programs in place of a workload: %w: use Linux, macOS or WSL2", ErrUnsupported)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.complete()
	return &Local{
		config: c, gate: newGate(c.Ports, c.Hold), asks: make(chan chan<- error), ended: make(chan struct{}),
		state: State{Phase: Stopped},
	}, nil
}

func (c Config) check() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
	}
	if c.Name == "" {
		wrong("Name is empty")
	}
	if !filepath.IsAbs(c.Root) {
		wrong("Root is %q, and has to be an absolute path", c.Root)
	}
	if c.Dir != "" && !filepath.IsAbs(c.Dir) {
		wrong("Dir is %q, and has to be an absolute path", c.Dir)
	}
	if len(c.Inputs.Strings()) == 0 {
		wrong("Inputs has no patterns")
	}
	switch isGo := c.Go != nil; {
	case isGo == (len(c.Command) > 0):
		wrong("either Go or Command has to be set")
	case isGo && !filepath.IsAbs(c.Temp):
		wrong("Temp is %q, and has to be an absolute path", c.Temp)
	case isGo && !filepath.IsLocal(filepath.FromSlash(c.Go.Package)):
		wrong("Go.Package is %q, and has to be a folder below Root", c.Go.Package)
	case !isGo && c.Command[0] == "":
		wrong("Command has no program")
	}
	switch c.Reload {
	case "", catalogue.ReloadRestart, catalogue.ReloadSelf:
	case catalogue.ReloadSignal:
		if c.Signal != "" && signalNamed(c.Signal) == nil {
			wrong("Signal is %q, and has to be the name of one, such as SIGHUP", c.Signal)
		}
	default:
		wrong("Reload is %q", c.Reload)
	}
	if slices.ContainsFunc(slices.Concat(c.Command, c.Args, c.Env, []string{c.Dir}), func(s string) bool { return strings.ContainsRune(s, 0) }) {
		wrong("a zero byte can be in no argument, variable or folder")
	}
	containers, locals := map[uint16]bool{}, map[uint16]bool{}
	for _, p := range c.Ports {
		local := cmp.Or(p.Local, p.Container)
		if p.Container == 0 || containers[p.Container] || locals[local] {
			wrong("Ports has %d and %d, and each has to be another one and not 0", p.Container, local)
		}
		containers[p.Container], locals[local] = true, true
	}
	if c.Grace < 0 || c.Hold < 0 {
		wrong("Grace is %s and Hold is %s", c.Grace, c.Hold)
	}
	if c.Store == nil {
		wrong("Store is missing")
	}
	if c.Environ == nil {
		wrong("Environ is missing")
	}
	return errors.Join(errs...)
}

func (c Config) complete() Config {
	if resolved, err := filepath.EvalSymlinks(c.Root); err == nil {
		c.Root = resolved // tools print paths without symbolic links
	}
	c.Dir = cmp.Or(c.Dir, c.Root)
	c.Reload = cmp.Or(c.Reload, catalogue.ReloadRestart)
	c.Signal = cmp.Or(c.Signal, "SIGHUP")
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	c.Hold = cmp.Or(c.Hold, 20*time.Second)
	c.Ports = slices.Clone(c.Ports)
	for i := range c.Ports {
		c.Ports[i].Local = cmp.Or(c.Ports[i].Local, c.Ports[i].Container)
	}
	c.Policy.Failures = 1 // a process that is gone is gone
	c.Policy.Pause = cmp.Or(c.Policy.Pause, time.Second)
	c.Policy.LongestPause = cmp.Or(c.Policy.LongestPause, 30*time.Second)
	if c.Output == nil {
		c.Output = io.Discard
	}
	if c.Observed == nil {
		c.Observed = func(Event) {}
	}
	return c
}

// Run implements Runtime.
func (l *Local) Run(ctx context.Context) error {
	connections, cut := context.WithCancel(context.Background())
	defer cut()
	l.mu.Lock()
	if l.begun {
		l.mu.Unlock()
		return fmt.Errorf("run %s: %w: Run is called once", l.config.Name, ErrInvalid)
	}
	l.begun, l.lifetime = true, connections
	l.mu.Unlock()
	l.gate.close()
	defer close(l.ended)
	defer l.gate.shut("it has been stopped")
	defer l.set(State{Phase: Stopped})
	if err := l.run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("run %s: %w", l.config.Name, err)
	}
	return nil
}

func (l *Local) run(ctx context.Context) error {
	if err := l.config.free(ctx); err != nil {
		return err
	}
	o := &loop{Local: l, out: &lines{to: l.config.Output}}
	var err error
	o.supervisor, err = supervise.New(supervise.Config{Thing: (*thing)(o), Store: l.config.Store, Policy: l.config.Policy})
	if err != nil {
		return err
	}
	if l.config.Go != nil {
		if o.builder, err = newBuilder(ctx, l.config); err != nil {
			return err
		}
		defer o.builder.folder.Remove()
	}
	return o.run(ctx)
}

// Dial implements Runtime.
func (l *Local) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	l.mu.Lock()
	lifetime := l.lifetime
	l.mu.Unlock()
	if lifetime == nil {
		return nil, notServing(errors.New("it has not been started"))
	}
	conn, err := l.gate.connect(ctx, lifetime, port)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", l.config.Name, err)
	}
	return conn, nil
}

// State implements Runtime.
func (l *Local) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	s.Problems = slices.Clone(s.Problems)
	return s
}

func (l *Local) set(s State) { l.change(func(old *State) { s.Since = old.Since; *old = s }) }

// change changes the State.
func (l *Local) change(f func(*State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	phase := l.state.Phase
	f(&l.state)
	if l.state.Phase != phase || l.state.Since.IsZero() {
		l.state.Since = time.Now()
	}
}

// tell tells an event.
func (l *Local) tell(e Event) {
	e.Time, e.Name = time.Now(), l.config.Name
	l.observe.Lock()
	defer l.observe.Unlock()
	l.config.Observed(e)
	l.settle(e)
}
