package workstation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
	"github.com/pharos-dev/pharos/lifecycle/takeover/forward"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
	"github.com/pharos-dev/pharos/lifecycle/takeover/tunnel"
)

// process is a workload that runs here.
type process struct {
	*Workstation
	request takeover.StartRequest

	output   *environment.Scrubber
	files    *environment.Folder
	forwards *forward.Forwarder
	local    *runtime.Local
	// began are told how the process comes up, until it has.
	began chan runtime.Event

	cancel  context.CancelFunc
	running sync.WaitGroup
	ended   chan error // of the process

	mu     sync.Mutex
	tunnel *tunnel.Tunnel
}

var _ takeover.Process = (*process)(nil)

// start starts everything. What it began before an error is left to Stop.
func (p *process) start(ctx context.Context) error {
	var d appsv1.Deployment
	if err := json.Unmarshal(p.request.Workload.Live, &d); err != nil {
		return fmt.Errorf("read %s: %w", p.request.Workload.Subject(), err)
	}
	running, cancel := context.WithCancel(context.Background())
	p.cancel, p.began, p.ended = cancel, make(chan runtime.Event, 16), make(chan error, 1)
	p.output = environment.NewScrubber(p.Output(p.request.Workload.Image))
	addresses, err := p.forward(running)
	if err != nil {
		return err
	}
	env, err := p.environment(ctx, running, &d, addresses)
	if err != nil {
		return err
	}
	return p.run(ctx, running, env)
}

// forward makes the Services reachable that the process is to reach.
func (p *process) forward(ctx context.Context) (addresses map[string]string, err error) {
	w := p.request.Workload
	if len(w.Run.Forwards) == 0 {
		return nil, nil
	}
	var list []forward.Forward
	for _, f := range w.Run.Forwards {
		namespace := f.Namespace
		if namespace == "" {
			namespace = w.Namespace
		}
		list = append(list, forward.Forward{Service: f.Service, Namespace: namespace, Port: intstr.FromInt32(int32(f.Port)), Local: f.Local})
	}
	p.forwards, err = forward.New(forward.Config{REST: p.REST, Forwards: list, Owner: p.Root + "\x00" + w.Subject(), Observed: p.forwarded, Log: p.Log})
	if err != nil {
		return nil, err
	}
	addresses = map[string]string{}
	for i, a := range p.forwards.Addresses() {
		addresses[w.Run.Forwards[i].Address()] = a.String()
	}
	p.forwarded(p.forwards.State())
	p.running.Go(func() {
		if err := p.forwards.Run(ctx); err != nil {
			p.request.Warned("its Services are not at ports of this machine any more: " + err.Error())
		}
	})
	return addresses, nil
}

// forwarded tells where Services are, and how.
func (p *process) forwarded(all []forward.Status) {
	var list []takeover.ForwardStatus
	for i, f := range all {
		st := takeover.ForwardStatus{Service: p.request.Workload.Run.Forwards[i].Address(), Address: f.String(), Pod: f.Pod}
		if f.Err != nil {
			st.Reason = f.Err.Error()
		}
		list = append(list, st)
	}
	p.request.Forwarded(list)
}

// environment resolves what the process gets of its workload.
func (p *process) environment(ctx, running context.Context, d *appsv1.Deployment, addresses map[string]string) (environment.Environment, error) {
	w := p.request.Workload
	q := environment.Request{Namespace: w.Namespace, Pod: d.Spec.Template, Container: w.Container, Run: w.Run, Addresses: addresses}
	// A Go program takes the manifest's arguments, unless it is given others.
	q.Args = w.Build.Go != nil && (w.Run.Kind() == "" || w.Run.Go != nil && w.Run.Go.Args == nil)
	var none environment.Environment
	var err error
	if q.DotEnv, err = p.envFile(w); err != nil {
		return none, err
	}
	if q.Live, err = p.Workstation.running(ctx, d); err != nil {
		return none, err
	}
	if len(w.Run.Files) > 0 {
		if p.files, err = environment.NewFolder(p.Memory...); err != nil {
			return none, err
		}
		q.Folder = p.files.Path()
	}
	env, err := environment.Resolve(ctx, p.reader, q)
	if err = lifecycle.TargetError(err); err != nil && !errors.Is(err, lifecycle.ErrUnreachable) && ctx.Err() == nil {
		err = &lifecycle.Error{Op: "run", On: "image " + w.Image, Class: lifecycle.ErrSource, Err: err}
	}
	if err != nil {
		return none, err
	}
	p.output.Add(env.Secrets()...)
	p.warn(env)
	if p.files == nil {
		return env, nil
	}
	secret := func(text string) { p.output.Add(text) }
	if err := p.files.Write(ctx, p.reader, env, secret); err != nil {
		return none, err
	}
	p.running.Go(func() {
		_ = p.files.Renew(running, p.reader, env, secret, p.notRenewed())
	})
	return env, nil
}

// notRenewed is told why a token cannot be renewed, again and again, and says it once.
func (p *process) notRenewed() func(error) {
	last := ""
	return func(err error) {
		if text := err.Error(); text != last {
			last = text
			p.request.Warned("its service account's token is not renewed: " + text)
		}
	}
}

// warn says what of the environment may not be as it is expected.
func (p *process) warn(env environment.Environment) {
	if len(env.Missing) > 0 {
		p.request.Warned("run.env lists what the container has no variable of: " + strings.Join(env.Missing, ", "))
	}
	for _, notice := range env.Notices {
		p.request.Warned(notice)
	}
	if p.files != nil && !p.files.InMemory() {
		p.request.Warned("its mounted files are on a disk until they are wiped, since there is no folder in memory")
	}
}

// run starts the program and waits until it is ready.
func (p *process) run(ctx, running context.Context, env environment.Environment) error {
	w := p.request.Workload
	temp := filepath.Join(p.Folder, "build")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return err
	}
	store, err := p.budget(p.request.Session.ID, w.Namespace+"."+w.Name)
	if err != nil {
		return err
	}
	spec, err := p.spec(env)
	if err != nil {
		return err
	}
	p.local, err = runtime.New(runtime.Config{Spec: spec, Store: store, Temp: temp, Environ: p.Environ, Output: p.output, Observed: p.observed})
	if err != nil {
		return err
	}
	p.running.Go(func() { p.ended <- p.local.Run(running) })
	if err := p.ready(ctx); err != nil {
		return err
	}
	p.running.Go(func() {
		if err := <-p.ended; running.Err() == nil {
			p.request.Warned(fmt.Sprintf("it is not run on this machine any more: %v", err))
		}
	})
	return nil
}

// spec is what is run.
func (p *process) spec(env environment.Environment) (runtime.Spec, error) {
	w := p.request.Workload
	var spec runtime.Spec
	local := map[uint16]uint16{}
	for _, port := range w.Run.Ports {
		local[port.Port] = port.Local
	}
	for _, port := range p.request.Session.Ports {
		spec.Ports = append(spec.Ports, runtime.Port{Container: port.Number, Local: local[port.Number]})
	}
	var first uint16
	if len(spec.Ports) > 0 {
		if first = spec.Ports[0].Local; first == 0 {
			first = spec.Ports[0].Container
		}
	}
	program, err := runtime.Choose(p.Root, catalogue.Image{Name: w.Image, Build: w.Build, Inputs: w.Inputs, Run: &w.Run}, first)
	if err != nil {
		return spec, err
	}
	spec.Name, spec.Root, spec.Inputs = w.Image, p.Root, w.Inputs
	spec.Go, spec.Command, spec.Args, spec.Dir, spec.Reload = program.Go, program.Command, program.Args, program.Dir, program.Reload
	if spec.Go != nil && spec.Args == nil {
		spec.Args = env.Args
	}
	spec.Env = append(Inherited(p.Environ), env.Environ()...)
	return spec, nil
}

// observed passes on what happens to the program.
func (p *process) observed(e runtime.Event) {
	select {
	case p.began <- e:
	default: // it is up, or comes up very slowly: only the first events count
	}
	p.request.Observed(e)
}

// ready waits until the program listens, or cannot.
func (p *process) ready(ctx context.Context) error {
	fail := func(class error, format string, args ...any) error {
		return p.failed(class, fmt.Errorf(format, args...))
	}
	for {
		select {
		case e := <-p.began:
			switch e.Type {
			case runtime.EventReady, runtime.EventSilent:
				return nil
			case runtime.EventBuildFailed:
				return fail(lifecycle.ErrSource, "%w", &runtime.BuildError{Problems: e.Problems})
			case runtime.EventParked:
				return fail(lifecycle.ErrSource, "%w: %s", runtime.ErrCrashed, e.Reason)
			}
		case err := <-p.ended:
			p.ended <- err
			if err == nil {
				err = errors.New("it ended")
			}
			return fail(nil, "%w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// failed is why the image does not run here.
func (p *process) failed(class, err error) error {
	return &lifecycle.Error{Op: "run", On: "image " + p.request.Workload.Image, Class: class, Err: err}
}

// Serve implements takeover.Process.
func (p *process) Serve(ctx context.Context, d divert.Diversion) error {
	t, err := tunnel.New(tunnel.Config{
		REST: p.REST, Namespace: d.Namespace, Deployment: d.Name, UID: types.UID(d.UID), Container: d.Container, AgentImage: d.Agent,
		Session: p.request.Session, Key: p.request.Key, Dial: p.dial, Permit: p.request.Confirm,
		Observed: func(s tunnel.State) { p.request.Changed(s.Connected(), len(s.Pods)) }, Log: p.Log,
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.tunnel = t
	p.mu.Unlock()
	return t.Run(ctx)
}

// dial connects to the program, if it is known that the target is still ours.
func (p *process) dial(ctx context.Context, port uint16) (net.Conn, error) {
	if err := p.request.Permit(ctx); err != nil {
		return nil, err
	}
	return p.local.Dial(ctx, port)
}

// Connected implements takeover.Process.
func (p *process) Connected(pod types.UID) bool {
	p.mu.Lock()
	t := p.tunnel
	p.mu.Unlock()
	if t == nil {
		return false
	}
	for _, o := range t.State().Pods {
		if o.UID == pod {
			return !o.Connected.IsZero()
		}
	}
	return false
}

// Restart implements takeover.Process.
func (p *process) Restart(ctx context.Context) error {
	err := p.local.Restart(ctx)
	if _, unbuilt := errors.AsType[*runtime.BuildError](err); unbuilt || errors.Is(err, runtime.ErrCrashed) {
		err = p.failed(lifecycle.ErrSource, err)
	}
	return err
}

// State implements takeover.Process.
func (p *process) State() runtime.State { return p.local.State() }

// Stop implements takeover.Process.
func (p *process) Stop() error {
	var errs []error
	if p.cancel != nil {
		p.cancel()
	}
	if p.forwards != nil {
		errs = append(errs, p.forwards.Close())
	}
	p.running.Wait()
	if p.files != nil {
		errs = append(errs, p.files.Wipe())
	}
	if p.output != nil {
		errs = append(errs, p.output.Close())
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
